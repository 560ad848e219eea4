// The micro-kernel of all products, and the transposition that feeds it. Compiled anew for every SIMD target,
// hence no plain include guard.
#if defined(HEED_OPS_KERNELS_PRODUCT_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_PRODUCT_TOGGLE
#undef HEED_OPS_KERNELS_PRODUCT_TOGGLE
#else
#define HEED_OPS_KERNELS_PRODUCT_TOGGLE
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A panel is the columns that one call of the micro-kernel computes: the lanes of two vectors. `rows` rows
// of it at a time are the accumulators that fill the registers.
template <class T>
struct Panel {
  static constexpr int vectors = 2;
  static constexpr int rows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
  static constexpr int vector = static_cast<int>(hn::MaxLanes(hn::ScalableTag<T>()));
  static constexpr int lanes = vectors * vector;
};

// Asks for what lies `offset` elements behind `from`, which may be outside of its array.
template <class T>
HWY_INLINE void fetch_ahead(const T* from, std::int64_t offset) {
  const std::uintptr_t address =
      reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(offset) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(address));  // NOLINT(performance-no-int-to-ptr)
}

// Of a lambda in a kernel that must not become a call.
#undef HEED_INLINE_LAMBDA
#define HEED_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

// Calls body(0), …, body(n − 1) with constants. Arrays of vectors that are indexed by them alone stay in
// registers; in a loop the compiler takes them through memory.
template <int n, class Body>
HWY_INLINE void unrolled(Body&& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) HEED_INLINE_LAMBDA {
    (body(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, n>());
}

// A Kind says how a product reads its first factor: a(i, p) = transposed ? a[p·lda + i] : a[i·lda + p].
// It gives the row strides of b and c where they are constants, which saves registers; where it gives 0
// the arguments `ldb` and `ldc` have them. With `streams`, b and c are far away and are fetched ahead.

// c[i][V vectors] = (add ? c : 0) + Σ_p a(i, p) · b[p][V vectors] for i < R. Every element is one chain
// of fused additions over ascending p. So its bits do not depend on R or V, nor on where the sum over p
// is interrupted and taken up again with `add`.
template <int R, int V, class Kind, class T>
HWY_INLINE void product_rows(Kind, T* HWY_RESTRICT c, std::int64_t ldc, const T* HWY_RESTRICT a,
                             std::int64_t lda, const T* HWY_RESTRICT b, std::int64_t ldb, std::int64_t k,
                             bool add) {
  const hn::ScalableTag<T> d;
  constexpr int n = Panel<T>::vector;
  constexpr int ahead = 8;  // rows of b
  if constexpr (Kind::b_stride > 0) ldb = Kind::b_stride;
  if constexpr (Kind::c_stride > 0) ldc = Kind::c_stride;
  using Vector = hn::Vec<decltype(d)>;
  Vector sum[R][V];
  unrolled<R>([&](auto i) HEED_INLINE_LAMBDA {
    unrolled<V>([&](auto v) HEED_INLINE_LAMBDA {
      sum[i][v] = add ? hn::LoadU(d, c + i * ldc + v * n) : hn::Zero(d);
      if constexpr (Kind::streams) fetch_ahead(c + i * ldc, (V + v) * n);
    });
  });
  for (std::int64_t p = 0; p < k; ++p) {
    Vector y[V];
    unrolled<V>([&](auto v) HEED_INLINE_LAMBDA {
      y[v] = hn::LoadU(d, b + v * n);
      if constexpr (Kind::streams) fetch_ahead(b, ahead * ldb + v * n);
    });
    unrolled<R>([&](auto i) HEED_INLINE_LAMBDA {
      const auto x = hn::Set(d, Kind::transposed ? a[i] : a[i * lda]);
      unrolled<V>([&](auto v) HEED_INLINE_LAMBDA { sum[i][v] = hn::MulAdd(x, y[v], sum[i][v]); });
    });
    b += ldb;
    a += Kind::transposed ? lda : 1;
  }
  unrolled<R>([&](auto i) HEED_INLINE_LAMBDA {
    unrolled<V>([&](auto v) HEED_INLINE_LAMBDA { hn::StoreU(sum[i][v], d, c + i * ldc + v * n); });
  });
}

// The same for up to R rows.
template <int R, int V, class Kind, class T>
HWY_INLINE void product_group(Kind kind, std::int64_t rows, T* c, std::int64_t ldc, const T* a,
                              std::int64_t lda, const T* b, std::int64_t ldb, std::int64_t k, bool add) {
  if (rows == R) return product_rows<R, V>(kind, c, ldc, a, lda, b, ldb, k, add);
  if constexpr (R > 1) product_group<R - 1, V>(kind, rows, c, ldc, a, lda, b, ldb, k, add);
}

// Calls body(first, count) for groups of nearly equal size, at most Panel<T>::rows: a short last group would
// have so few accumulators that each addition waits for the one before.
template <class T, class Body>
HWY_INLINE void for_groups(std::int64_t rows, Body&& body) {
  constexpr std::int64_t most = Panel<T>::rows;
  std::int64_t first = 0;
  for (std::int64_t groups = (rows + most - 1) / most; groups > 0; --groups) {
    const std::int64_t count = (rows - first + groups - 1) / groups;
    body(first, count);
    first += count;
  }
}

// How many rows of `Ahead` are fetched before a group of rows is computed.
inline constexpr std::int64_t rows_ahead = 12;

// Rows of memory that will soon be read or written. They are fetched as far as L2, a few at a time.
template <class T>
class Ahead {
 public:
  void add(const T* row, std::int64_t stride, std::int64_t rows, std::int64_t width) {
    if (rows > 0) ranges_[count_++] = {row, stride, rows, width};
  }
  // Asks for the next rows.
  void fetch(std::int64_t rows) {
    constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
    for (; rows > 0 && count_ > 0; --rows) {
      Range& range = ranges_[count_ - 1];
      for (std::int64_t c = 0; c < range.width; c += line) __builtin_prefetch(range.row + c, 0, 2);
      range.row += range.stride;
      if (--range.rows == 0) --count_;
    }
  }

 private:
  struct Range {
    const T* row;
    std::int64_t stride, rows, width;
  };
  Range ranges_[10];
  int count_ = 0;
};

// The same for any number of rows and one panel.
template <class Kind, class T>
HWY_NOINLINE void product(Kind kind, std::int64_t rows, T* c, std::int64_t ldc, const T* a, std::int64_t lda,
                          const T* b, std::int64_t ldb, std::int64_t k, bool add, Ahead<T>* ahead = nullptr) {
  if constexpr (Kind::c_stride > 0) ldc = Kind::c_stride;
  for_groups<T>(rows, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    if (ahead != nullptr) ahead->fetch(rows_ahead);
    product_group<Panel<T>::rows, Panel<T>::vectors>(
        kind, count, c + i * ldc, ldc, Kind::transposed ? a + i : a + i * lda, lda, b, ldb, k, add);
  });
}

// A vector of 128-bit blocks, the first from `from` and each next one `step` elements on.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, [[maybe_unused]] std::int64_t step) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) * sizeof(T) > 16) {
    const hn::Half<D> half;
    constexpr auto blocks = static_cast<std::int64_t>(hn::MaxLanes(half) * sizeof(T) / 16);
    return hn::Combine(d, load_blocks(half, from + blocks * step, step), load_blocks(half, from, step));
  }
#endif
  return hn::LoadU(d, from);
}

// The transpose of a strip: y[j] are the elements j of all rows, for as many j as a 128-bit block has, and as
// many rows as a vector has lanes.
template <class D, class T>
HWY_INLINE void load_transposed(D d, const T* from, std::int64_t ld, hn::Vec<D>* y) {
  constexpr std::int64_t n = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  const auto r0 = load_blocks(d, from, n * ld);
#if HWY_TARGET == HWY_SCALAR
  y[0] = r0;
#else
  const auto r1 = load_blocks(d, from + ld, n * ld);
  if constexpr (n == 2) {
    y[0] = hn::InterleaveLower(d, r0, r1);
    y[1] = hn::InterleaveUpper(d, r0, r1);
  } else {
    const auto r2 = load_blocks(d, from + 2 * ld, n * ld);
    const auto r3 = load_blocks(d, from + 3 * ld, n * ld);
    const auto a0 = hn::InterleaveLower(d, r0, r2), a1 = hn::InterleaveLower(d, r1, r3);
    const auto b0 = hn::InterleaveUpper(d, r0, r2), b1 = hn::InterleaveUpper(d, r1, r3);
    y[0] = hn::InterleaveLower(d, a0, a1);
    y[1] = hn::InterleaveUpper(d, a0, a1);
    y[2] = hn::InterleaveLower(d, b0, b1);
    y[3] = hn::InterleaveUpper(d, b0, b1);
  }
#endif
}

// `transpose` element by element.
template <bool accumulates, class T>
HWY_INLINE void transpose_singly(T* to, std::int64_t ldt, const T* from, std::int64_t ldf, std::int64_t rows,
                                 std::int64_t columns, T factor) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const T x = from[i * ldf + j] * factor;
      to[j * ldt + i] = accumulates ? to[j * ldt + i] + x : x;
    }
  }
}

// As many rows of `transpose` as a vector has lanes.
template <bool accumulates, class D, class T>
HWY_INLINE void transpose_strip(D d, T* to, std::int64_t ldt, const T* from, std::int64_t ldf,
                                std::int64_t columns, T factor) {
  constexpr std::int64_t n = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  constexpr auto rows = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto scale = hn::Set(d, factor);
  std::int64_t j = 0;
  for (; j + n <= columns; j += n) {
    hn::Vec<D> y[n];
    load_transposed(d, from + j, ldf, y);
    for (std::int64_t x = 0; x < n; ++x) {
      T* at = to + (j + x) * ldt;
      const auto scaled = hn::Mul(y[x], scale);
      hn::StoreU(accumulates ? hn::Add(hn::LoadU(d, at), scaled) : scaled, d, at);
    }
  }
  transpose_singly<accumulates>(to + j * ldt, ldt, from + j, ldf, rows, columns - j, factor);
}

// to[j][i] = (accumulates ? to[j][i] : 0) + from[i][j] · factor for i < rows, j < columns.
template <bool accumulates = false, class T>
HWY_NOINLINE void transpose(T* to, std::int64_t ldt, const T* from, std::int64_t ldf, std::int64_t rows,
                            std::int64_t columns, T factor) {
  std::int64_t i = 0;
  const auto strips = [&](auto d) HWY_ATTR {
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
    for (; i + lanes <= rows; i += lanes) {
      transpose_strip<accumulates>(d, to + i, ldt, from + i * ldf, ldf, columns, factor);
    }
  };
  strips(hn::ScalableTag<T>());
  strips(hn::FixedTag < T, HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T) > ());
  transpose_singly<accumulates>(to + i, ldt, from + i * ldf, ldf, rows - i, columns, factor);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
