// The micro-kernel of all products, and the transposition that feeds it. Compiled anew for every SIMD target,
// hence no plain include guard.
#if defined(HEED_OPS_KERNELS_PRODUCT_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_PRODUCT_TOGGLE
#undef HEED_OPS_KERNELS_PRODUCT_TOGGLE
#else
#define HEED_OPS_KERNELS_PRODUCT_TOGGLE
#endif

#include <cstdint>

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

// A Kind says how a product reads its first factor, a(i, p) = transposed ? a[p·lda + i] : a[i·lda + p], and
// gives the row strides of b and c where they are constants, which saves registers; 0 means that the argument
// `ld` has the stride.

// c[i][lanes] = (add ? c : 0) + Σ_p a(i, p) · b[p][lanes] for i < R.
template <int R, class Kind, class T>
HWY_INLINE void product_rows(Kind, T* HWY_RESTRICT c, const T* HWY_RESTRICT a, std::int64_t lda,
                             const T* HWY_RESTRICT b, std::int64_t ld, std::int64_t k, bool add) {
  const hn::ScalableTag<T> d;
  constexpr int n = Panel<T>::vector;
  const std::int64_t ldb = Kind::b_stride > 0 ? Kind::b_stride : ld;
  const std::int64_t ldc = Kind::c_stride > 0 ? Kind::c_stride : ld;
  hn::Vec<decltype(d)> c0[R], c1[R];
  for (int i = 0; i < R; ++i) {
    c0[i] = add ? hn::LoadU(d, c + i * ldc) : hn::Zero(d);
    c1[i] = add ? hn::LoadU(d, c + i * ldc + n) : hn::Zero(d);
  }
  for (std::int64_t p = 0; p < k; ++p) {
    const auto b0 = hn::LoadU(d, b);
    const auto b1 = hn::LoadU(d, b + n);
    for (int i = 0; i < R; ++i) {
      const auto x = hn::Set(d, Kind::transposed ? a[i] : a[i * lda]);
      c0[i] = hn::MulAdd(x, b0, c0[i]);
      c1[i] = hn::MulAdd(x, b1, c1[i]);
    }
    b += ldb;
    a += Kind::transposed ? lda : 1;
  }
  for (int i = 0; i < R; ++i) {
    hn::StoreU(c0[i], d, c + i * ldc);
    hn::StoreU(c1[i], d, c + i * ldc + n);
  }
}

template <int R, class Kind, class T>
HWY_INLINE void product_some(Kind kind, std::int64_t rows, T* c, const T* a, std::int64_t lda, const T* b,
                             std::int64_t ld, std::int64_t k, bool add) {
  if (rows == R) return product_rows<R>(kind, c, a, lda, b, ld, k, add);
  if constexpr (R > 1) product_some<R - 1>(kind, rows, c, a, lda, b, ld, k, add);
}

// The same for any number of rows, cut into groups of nearly equal size: a short last group would have so few
// accumulators that each addition waits for the one before.
template <class Kind, class T>
HWY_NOINLINE void product(Kind kind, std::int64_t rows, T* c, const T* a, std::int64_t lda, const T* b,
                          std::int64_t ld, std::int64_t k, bool add) {
  constexpr int most = Panel<T>::rows;
  std::int64_t i = 0;
  for (std::int64_t groups = (rows + most - 1) / most; groups > 0; --groups) {
    const std::int64_t n = (rows - i + groups - 1) / groups;
    product_some<most>(kind, n, c + i * (Kind::c_stride > 0 ? Kind::c_stride : ld),
                       Kind::transposed ? a + i : a + i * lda, lda, b, ld, k, add);
    i += n;
  }
}

// One square of `transpose`, as wide as a 128-bit vector.
template <bool accumulates, class D, class T>
HWY_INLINE void transpose_square(D d, T* to, [[maybe_unused]] std::int64_t ldt, const T* from,
                                 [[maybe_unused]] std::int64_t ldf, hn::Vec<D> factor) {
  const auto put = [&](hn::Vec<D> x, T* at)
                       HWY_ATTR { hn::StoreU(accumulates ? hn::Add(hn::LoadU(d, at), x) : x, d, at); };
  const auto r0 = hn::Mul(hn::LoadU(d, from), factor);
#if HWY_TARGET == HWY_SCALAR
  put(r0, to);
#else
  const auto r1 = hn::Mul(hn::LoadU(d, from + ldf), factor);
  if constexpr (sizeof(T) == 8) {
    put(hn::InterleaveLower(d, r0, r1), to);
    put(hn::InterleaveUpper(d, r0, r1), to + ldt);
  } else {
    const auto r2 = hn::Mul(hn::LoadU(d, from + 2 * ldf), factor);
    const auto r3 = hn::Mul(hn::LoadU(d, from + 3 * ldf), factor);
    const auto a0 = hn::InterleaveLower(d, r0, r2), a1 = hn::InterleaveLower(d, r1, r3);
    const auto b0 = hn::InterleaveUpper(d, r0, r2), b1 = hn::InterleaveUpper(d, r1, r3);
    put(hn::InterleaveLower(d, a0, a1), to);
    put(hn::InterleaveUpper(d, a0, a1), to + ldt);
    put(hn::InterleaveLower(d, b0, b1), to + 2 * ldt);
    put(hn::InterleaveUpper(d, b0, b1), to + 3 * ldt);
  }
#endif
}

// to[j][i] = (accumulates ? to[j][i] : 0) + from[i][j] · factor for i < rows, j < columns.
template <bool accumulates = false, class T>
HWY_NOINLINE void transpose(T* to, std::int64_t ldt, const T* from, std::int64_t ldf, std::int64_t rows,
                            std::int64_t columns, T factor) {
  constexpr std::int64_t n = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  const hn::FixedTag<T, n> d;
  const auto single = [&](std::int64_t i, std::int64_t j) {
    const T x = from[i * ldf + j] * factor;
    to[j * ldt + i] = accumulates ? to[j * ldt + i] + x : x;
  };
  std::int64_t i = 0;
  for (; i + n <= rows; i += n) {
    std::int64_t j = 0;
    for (; j + n <= columns; j += n) {
      transpose_square<accumulates>(d, to + j * ldt + i, ldt, from + i * ldf + j, ldf, hn::Set(d, factor));
    }
    for (; j < columns; ++j) {
      for (std::int64_t r = i; r < i + n; ++r) single(r, j);
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) single(i, j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
