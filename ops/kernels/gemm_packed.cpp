#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <heed/ops/kernels/gemm_packed.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/gemm_packed.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/aligned_allocator.h>
#include <hwy/contrib/math/math-inl.h>
#include <heed/ops/kernels/lanes-inl.h>
#include <heed/ops/kernels/pack-inl.h>
#include <heed/ops/kernels/product-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

bool pays() { return HWY_TARGET <= HWY_AVX2; }

#if HWY_TARGET <= HWY_AVX2

// A group of rows of A [group][depth] stays in L1 while all panels of a block of B [depth][width] pass
// by from L2. The blocks decide when an element is computed, never its bits: see `product_rows`.
template <class T>
struct Blocks {
  static constexpr std::int64_t depth = 2048 / sizeof(T);
  static constexpr std::int64_t width = 512;
  static constexpr std::int64_t height = 96;
};

// Sums of few rows, at most what a packed block of A takes.
inline constexpr std::int64_t few_rows_room = 8192;

template <class T>
struct PackedGroup {
  static constexpr std::int64_t b_stride = Panel<T>::lanes, c_stride = 0;
  static constexpr bool transposed = true, streams = true;
};

// Memory of a thread, kept from product to product.
template <class T>
struct Buffers {
  using Block = Blocks<T>;
  hwy::AlignedFreeUniquePtr<T[]> a = hwy::AllocateAligned<T>(Block::height * Block::depth + Panel<T>::lanes);
  hwy::AlignedFreeUniquePtr<T[]> b = hwy::AllocateAligned<T>(Block::depth * Block::width);
  Buffers() {
    if (!a || !b) throw std::bad_alloc();
  }
};

template <class T>
const Buffers<T>& buffers() {
  static thread_local const Buffers<T> own;
  return own;
}

// A packed group of rows times V vectors of a panel. Never inlined: it is two dozen loops for each V.
template <int V, class T>
HWY_NOINLINE void vectors_product(std::int64_t rows, T* c, std::int64_t ldc, const T* a, const T* b,
                                  std::int64_t k, bool add) {
  product_group<Panel<T>::rows, V>(PackedGroup<T>(), rows, c, ldc, a, rows, b, Panel<T>::lanes, k, add);
}

// A packed group of rows times one panel, of which `columns` exist.
template <class T>
HWY_INLINE void group_product(std::int64_t rows, std::int64_t columns, T* c, std::int64_t ldc, const T* a,
                              const T* b, std::int64_t k, bool add) {
  constexpr std::int64_t lanes = Panel<T>::lanes, vector = Panel<T>::vector;
  constexpr int vectors = Panel<T>::vectors;
  if (columns >= lanes) return vectors_product<vectors>(rows, c, ldc, a, b, k, add);
  HWY_ALIGN T edge[Panel<T>::rows * lanes] = {};
  if (add) {
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(c + i * ldc, columns, edge + i * lanes);
  }
  if (columns <= vector) {
    vectors_product<1>(rows, static_cast<T*>(edge), lanes, a, b, k, add);
  } else {
    vectors_product<vectors>(rows, static_cast<T*>(edge), lanes, a, b, k, add);
  }
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(edge + i * lanes, columns, c + i * ldc);
}

// Rows of A times a packed block of B.
template <class T>
HWY_INLINE void block_product(std::int64_t m, std::int64_t columns, std::int64_t k, const Matrix<const T>& a,
                              const Buffers<T>& memory, bool add, T* c, std::int64_t ldc) {
  constexpr std::int64_t lanes = Panel<T>::lanes, height = Blocks<T>::height;
  for (std::int64_t row = 0; row < m; row += height) {
    const std::int64_t rows = std::min(height, m - row);
    pack_a(matrix_from(a, row, 0), rows, k, m - row, memory.a.get());
    for_groups<T>(rows, [&](std::int64_t i, std::int64_t group) HWY_ATTR {
      T* to = c + (row + i) * ldc;
      for (std::int64_t j = 0; j < columns; j += lanes) {
        group_product(group, columns - j, to + j, ldc, static_cast<const T*>(memory.a.get() + i * k),
                      static_cast<const T*>(memory.b.get() + j * k), k, add);
      }
    });
  }
}

template <class T>
HWY_INLINE void packed_product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const T>& a,
                               const Matrix<const T>& b, bool add, T* c, std::int64_t ldc) {
  constexpr std::int64_t depth = Blocks<T>::depth, width = Blocks<T>::width;
  const Buffers<T>& memory = buffers<T>();
  for (std::int64_t column = 0; column < n; column += width) {
    const std::int64_t columns = std::min(width, n - column);
    for (std::int64_t p = 0; p < k; p += depth) {
      const std::int64_t steps = std::min(depth, k - p);
      pack_b(matrix_from(b, p, column), steps, columns, memory.b.get());
      block_product(m, columns, steps, matrix_from(a, 0, p), memory, add || p > 0, c + column, ldc);
    }
  }
}

// R rows times B that lies as columns: c = (add ? c : 0) + a b for the first n / lanes · lanes columns.
// Squares of B are transposed in registers. Returns how many columns are done.
template <int R, class T>
HWY_INLINE std::int64_t few_rows_of_columns(std::int64_t n, std::int64_t k, const Matrix<const T>& a,
                                            const Matrix<const T>& b, bool add, T* c, std::int64_t ldc) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = Panel<T>::vector;
  constexpr std::int64_t square = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    V sum[R];
    for (int i = 0; i < R; ++i) sum[i] = add ? hn::LoadU(d, c + i * ldc + j) : hn::Zero(d);
    const T* from = b.data + j * b.column_step;
    const auto step = [&](std::int64_t p, V y) HWY_ATTR {
      for (int i = 0; i < R; ++i) {
        sum[i] = hn::MulAdd(hn::Set(d, a.data[i * a.row_step + p * a.column_step]), y, sum[i]);
      }
    };
    std::int64_t p = 0;
    for (; p + square <= k; p += square) {
      V y[square];
      load_transposed(d, from + p, b.column_step, y);
      for (std::int64_t x = 0; x < square; ++x) step(p + x, y[x]);
    }
    for (; p < k; ++p) {
      HWY_ALIGN T column[lanes];
      for (std::int64_t x = 0; x < lanes; ++x) column[x] = from[x * b.column_step + p];
      step(p, hn::Load(d, column));
    }
    for (int i = 0; i < R; ++i) hn::StoreU(sum[i], d, c + i * ldc + j);
  }
  return j;
}

// P rows of B, which lie as rows, times R rows of P elements: c += a b, or c = a b.
template <int R, int P, class T>
HWY_INLINE void add_rows(std::int64_t n, const Matrix<const T>& a, const Matrix<const T>& b, bool add, T* c,
                         std::int64_t ldc) {
  const hn::ScalableTag<T> d;
  T x[R][P];
  for (int i = 0; i < R; ++i) {
    for (int p = 0; p < P; ++p) x[i][p] = a.data[i * a.row_step + p * a.column_step];
  }
  for_lanes(d, n, [&](std::int64_t j, std::size_t count) HWY_ATTR {
    hn::Vec<decltype(d)> y[P];
    for (int p = 0; p < P; ++p) {
      y[p] = load(d, b.data + p * b.row_step + j, count);
      fetch_ahead(b.data + j, (p + P) * b.row_step);  // what is added next
    }
    for (int i = 0; i < R; ++i) {
      auto sum = add ? load(d, c + i * ldc + j, count) : hn::Zero(d);
      for (int p = 0; p < P; ++p) sum = hn::MulAdd(hn::Set(d, x[i][p]), y[p], sum);
      store(sum, d, c + i * ldc + j, count);
    }
  });
}

// R rows times B that lies as rows, which are read from end to end; the sums stay in L1 in `sums`,
// since rows of c may lie so that they push each other out of it.
template <int R, class T>
HWY_INLINE void few_rows_of_rows(std::int64_t n, std::int64_t k, const Matrix<const T>& a,
                                 const Matrix<const T>& b, bool add, T* c, std::int64_t ldc, T* sums) {
  constexpr std::int64_t width = few_rows_room / R;
  constexpr int at_once = 8;
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t columns = std::min(width, n - j);
    if (add) {
      for (int i = 0; i < R; ++i) std::copy_n(c + i * ldc + j, columns, sums + i * width);
    }
    std::int64_t p = 0;
    for (; p + at_once <= k; p += at_once) {
      add_rows<R, at_once>(columns, matrix_from(a, 0, p), matrix_from(b, p, j), add || p > 0, sums, width);
    }
    for (; p < k; ++p) {
      add_rows<R, 1>(columns, matrix_from(a, 0, p), matrix_from(b, p, j), add || p > 0, sums, width);
    }
    for (int i = 0; i < R; ++i) std::copy_n(sums + i * width, columns, c + i * ldc + j);
  }
}

// Few rows use each element of B so few times that packing it would cost more than the product. Each
// element of B is read once, at the rate of memory.
template <int R, class T>
HWY_INLINE void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const T>& a,
                         const Matrix<const T>& b, bool add, T* c, std::int64_t ldc) {
  if constexpr (R > 1) {
    if (m < R) return few_rows<R - 1>(m, n, k, a, b, add, c, ldc);
  }
  if (b.column_step == 1) return few_rows_of_rows<R>(n, k, a, b, add, c, ldc, buffers<T>().a.get());
  const std::int64_t done = few_rows_of_columns<R>(n, k, a, b, add, c, ldc);
  packed_product(m, n - done, k, a, matrix_from(b, 0, done), add, c + done, ldc);
}

template <class T>
HWY_INLINE void any_product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const T>& a,
                            const Matrix<const T>& b, bool add, T* c, std::int64_t ldc) {
  constexpr int few = 8;
  if (m <= few && (b.column_step == 1 || b.row_step == 1)) return few_rows<few>(m, n, k, a, b, add, c, ldc);
  packed_product(m, n, k, a, b, add, c, ldc);
}

void product_f32(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 bool add, float* c, std::int64_t ldc) {
  any_product(m, n, k, a, b, add, c, ldc);
}
void product_f64(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                 Matrix<const double> b, bool add, double* c, std::int64_t ldc) {
  any_product(m, n, k, a, b, add, c, ldc);
}

#else

// Not called: `pays` is false.
void product_f32(std::int64_t, std::int64_t, std::int64_t, Matrix<const float>, Matrix<const float>, bool,
                 float*, std::int64_t) {
  std::abort();
}
void product_f64(std::int64_t, std::int64_t, std::int64_t, Matrix<const double>, Matrix<const double>, bool,
                 double*, std::int64_t) {
  std::abort();
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(product_f32);
HWY_EXPORT(product_f64);
HWY_EXPORT(pays);

bool gemm_packed_pays() { return HWY_DYNAMIC_DISPATCH(pays)(); }

void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 bool add, float* c, std::int64_t ldc) {
  HWY_DYNAMIC_DISPATCH(product_f32)(m, n, k, a, b, add, c, ldc);
}
void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                 Matrix<const double> b, bool add, double* c, std::int64_t ldc) {
  HWY_DYNAMIC_DISPATCH(product_f64)(m, n, k, a, b, add, c, ldc);
}

}  // namespace heed::kernels
#endif
