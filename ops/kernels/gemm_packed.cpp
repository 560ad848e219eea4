#include <algorithm>
#include <cstdint>
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
#include <heed/ops/kernels/product-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

// Blocks that the caches hold: a panel of B [depth][lanes] in L1, a block of A [height][depth] and
// all panels in L2.
inline constexpr std::int64_t depth = 384;
inline constexpr std::int64_t height = 96;
inline constexpr std::int64_t width = 256;

struct Packed {  // b lies in panels, a as it is
  static constexpr std::int64_t b_stride = Panel<float>::lanes, c_stride = 0;
  static constexpr bool transposed = false;
};

// Memory of a thread, kept from product to product.
struct Buffers {
  hwy::AlignedFreeUniquePtr<float[]> b = hwy::AllocateAligned<float>(depth * (width + Panel<float>::lanes));
  hwy::AlignedFreeUniquePtr<float[]> edge = hwy::AllocateAligned<float>(height * Panel<float>::lanes);
  Buffers() {
    if (!b || !edge) throw std::bad_alloc();
  }
};

// Columns [column, column + n) of rows [row, row + k) as panels [n / lanes][k][lanes], zeros
// behind the last column.
HWY_INLINE void pack_b(const Matrix<const float>& b, std::int64_t row, std::int64_t k, std::int64_t column,
                       std::int64_t n, float* to) {
  constexpr std::int64_t lanes = Panel<float>::lanes;
  for (std::int64_t j = 0; j < n; j += lanes, to += k * lanes) {
    const std::int64_t count = std::min(lanes, n - j);
    if (b.transposed) {
      if (count < lanes) std::fill_n(to, k * lanes, 0.0f);
      transpose(to, lanes, b.data + (column + j) * b.leading + row, b.leading, count, k, 1.0f);
      continue;
    }
    for (std::int64_t p = 0; p < k; ++p) {
      const float* from = b.data + (row + p) * b.leading + column + j;
      std::copy_n(from, count, to + p * lanes);
      std::fill(to + p * lanes + count, to + (p + 1) * lanes, 0.0f);
    }
  }
}

void packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
            bool add, Matrix<float> c) {
  constexpr std::int64_t lanes = Panel<float>::lanes;
  static thread_local Buffers buffers;
  for (std::int64_t column = 0; column < n; column += width) {
    const std::int64_t columns = std::min(width, n - column);
    for (std::int64_t p = 0; p < k; p += depth) {
      const std::int64_t steps = std::min(depth, k - p);
      const bool adds = add || p > 0;
      pack_b(b, p, steps, column, columns, buffers.b.get());
      for (std::int64_t row = 0; row < m; row += height) {
        const std::int64_t rows = std::min(height, m - row);
        const float* from = a.data + row * a.leading + p;
        for (std::int64_t j = 0; j < columns; j += lanes) {
          const float* panel = buffers.b.get() + j * steps;
          float* to = c.data + row * c.leading + column + j;
          const std::int64_t count = columns - j;
          if (count >= lanes) {
            product(Packed(), rows, to, from, a.leading, panel, c.leading, steps, adds);
            continue;
          }
          float* edge = buffers.edge.get();
          product(Packed(), rows, edge, from, a.leading, panel, lanes, steps, false);
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t x = 0; x < count; ++x) {
              float& target = to[i * c.leading + x];
              target = adds ? target + edge[i * lanes + x] : edge[i * lanes + x];
            }
          }
        }
      }
    }
  }
}

// y[j] = (add ? y[j] : 0) + Σ_p x[p] b[j][p] for j < J: each row of b is read once, from end to end.
template <int J>
HWY_INLINE void dot_rows(const float* x, const float* b, std::int64_t ldb, std::int64_t k, bool add,
                         float* y) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[J];
  for (auto& sum : sums) sum = hn::Zero(d);
  for_lanes(d, k, [&](std::int64_t p, std::size_t count) HWY_ATTR {
    const auto v = load(d, x + p, count);
    for (int j = 0; j < J; ++j) sums[j] = hn::MulAdd(v, load(d, b + j * ldb + p, count), sums[j]);
  });
  for (int j = 0; j < J; ++j) {
    const float sum = hn::GetLane(hn::SumOfLanes(d, sums[j]));
    y[j] = add ? y[j] + sum : sum;
  }
}

void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
              bool add, Matrix<float> c) {
  for (std::int64_t i = 0; i < m; ++i) {
    const float* x = a.data + i * a.leading;
    float* y = c.data + i * c.leading;
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) dot_rows<4>(x, b.data + j * b.leading, b.leading, k, add, y + j);
    for (; j < n; ++j) dot_rows<1>(x, b.data + j * b.leading, b.leading, k, add, y + j);
  }
}

bool pays() { return HWY_TARGET <= HWY_AVX2; }

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(packed);
HWY_EXPORT(few_rows);
HWY_EXPORT(pays);

bool gemm_packed_pays() { return HWY_DYNAMIC_DISPATCH(pays)(); }

void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 bool add, Matrix<float> c) {
  // Packing reads and writes all of B: too much for the rows of a decoded token, which use each
  // element once or twice.
  constexpr std::int64_t few = 2;
  if (m <= few && b.transposed) return HWY_DYNAMIC_DISPATCH(few_rows)(m, n, k, a, b, add, c);
  HWY_DYNAMIC_DISPATCH(packed)(m, n, k, a, b, add, c);
}

}  // namespace heed::kernels
#endif
