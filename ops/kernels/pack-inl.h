// How a product lays its factors out for the micro-kernel. Compiled anew for every SIMD
// target, hence no plain include guard.
#if defined(HEED_OPS_KERNELS_PACK_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_OPS_KERNELS_PACK_TOGGLE
#undef HEED_OPS_KERNELS_PACK_TOGGLE
#else
#define HEED_OPS_KERNELS_PACK_TOGGLE
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include <heed/ops/kernels/gemm.h>
#include <heed/ops/kernels/product-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE Matrix<T> matrix_from(Matrix<T> x, std::int64_t row, std::int64_t column) {
  x.data += row * x.row_step + column * x.column_step;
  return x;
}

// to[p][x] = b(p, x) for p < k, x < count, zeros up to `lanes`.
template <class T>
HWY_INLINE void pack_panel(const Matrix<const T>& b, std::int64_t k, std::int64_t count, T* to) {
  constexpr std::int64_t lanes = Panel<T>::lanes;
  for (std::int64_t p = 0; p < k; ++p, to += lanes) {
    const T* from = b.data + p * b.row_step;
    for (std::int64_t x = 0; x < lanes; ++x) to[x] = x < count ? from[x * b.column_step] : T(0);
  }
}

// k rows and n columns of B as panels [n / lanes][k][lanes], zeros behind the last column.
template <class T>
HWY_INLINE void pack_b(const Matrix<const T>& b, std::int64_t k, std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = Panel<T>::lanes, vector = Panel<T>::vector;
  const std::int64_t whole = n / lanes * lanes;
  if (b.column_step == 1) {
    for (std::int64_t p = 0; p < k; ++p) {  // whole rows, from end to end
      const T* from = b.data + p * b.row_step;
      for (std::int64_t j = 0; j < whole; j += lanes) {
        for (std::int64_t x = 0; x < lanes; x += vector) {
          hn::Store(hn::LoadU(d, from + j + x), d, to + j * k + p * lanes + x);
        }
      }
    }
  } else {
    for (std::int64_t j = 0; j < whole; j += lanes) {
      if (b.row_step == 1) {
        transpose(to + j * k, lanes, b.data + j * b.column_step, b.column_step, lanes, k, T(1));
      } else {
        pack_panel(matrix_from(b, 0, j), k, lanes, to + j * k);
      }
    }
  }
  if (whole < n) pack_panel(matrix_from(b, 0, whole), k, n - whole, to + whole * k);
}

// A group of rows of A is stored as columns [k][rows], in whole vectors that run over the end of their
// column, where the next columns are stored after them.
template <class T>
struct GroupStore {
  static constexpr std::int64_t vector = Panel<T>::vector;
  static constexpr std::int64_t strips = (Panel<T>::rows + vector - 1) / vector;
  // The first column that whole vectors must not store, as they would leave the group.
  static std::int64_t exact_from(std::int64_t rows, std::int64_t k) {
    return rows > (strips - 1) * vector ? k - (strips * vector - 1) / rows : 0;
  }
};

// Rows of A that lie as rows.
template <class T>
HWY_INLINE void pack_rows(const Matrix<const T>& a, std::int64_t rows, std::int64_t k,
                          std::int64_t exact_from, T* to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t square = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  constexpr std::int64_t vector = GroupStore<T>::vector, strips = GroupStore<T>::strips;
  std::int64_t p = 0;
  for (; p + square <= exact_from; p += square) {
    hn::Vec<decltype(d)> y[strips][square];
    for (std::int64_t s = 0; s < strips; ++s) {
      load_transposed(d, a.data + s * vector * a.row_step + p, a.row_step, y[s]);
    }
    for (std::int64_t x = 0; x < square; ++x) {
      for (std::int64_t s = 0; s < strips; ++s) hn::StoreU(y[s][x], d, to + (p + x) * rows + s * vector);
    }
  }
  for (; p < k; ++p) {
    for (std::int64_t x = 0; x < rows; ++x) to[p * rows + x] = a.data[x * a.row_step + p];
  }
}

// m rows of A in groups, each as columns [k][rows]. `readable` rows exist; `to` has
// room for a vector behind its end.
template <class T>
HWY_INLINE void pack_a(const Matrix<const T>& a, std::int64_t m, std::int64_t k, std::int64_t readable,
                       T* to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t vector = GroupStore<T>::vector, strips = GroupStore<T>::strips;
  const std::int64_t groups = (m + Panel<T>::rows - 1) / Panel<T>::rows;
  const std::int64_t exact_from = GroupStore<T>::exact_from(m / groups, k);  // of the smallest group
  if (a.column_step == 1) {
    for_groups<T>(m, [&](std::int64_t i, std::int64_t rows) HWY_ATTR {
      const bool whole = i + strips * vector <= readable;
      pack_rows(matrix_from(a, i, 0), rows, k, whole ? exact_from : 0, to + i * k);
    });
    return;
  }
  constexpr std::int64_t columns = 32;  // of all groups at a time, which L1 holds
  for (std::int64_t first = 0; first < k; first += columns) {
    const std::int64_t end = std::min(first + columns, k);
    for_groups<T>(m, [&](std::int64_t i, std::int64_t rows) HWY_ATTR {
      const T* from = a.data + i * a.row_step;
      T* group = to + i * k;
      std::int64_t p = first;
      if (a.row_step == 1 && i + strips * vector <= readable) {
        for (; p < std::min(end, exact_from); ++p) {
          for (std::int64_t s = 0; s < strips; ++s) {
            hn::StoreU(hn::LoadU(d, from + p * a.column_step + s * vector), d, group + p * rows + s * vector);
          }
        }
      }
      for (; p < end; ++p) {
        for (std::int64_t x = 0; x < rows; ++x) {
          group[p * rows + x] = from[x * a.row_step + p * a.column_step];
        }
      }
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
