#include <algorithm>
#include <vector>

#include <heed/core/elements.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/matrix_product.h>

namespace heed::detail {
namespace {

// The last two axes. The step along an axis of size 1 means nothing and is 1, so that
// more matrices have a step of 1.
template <class T>
kernels::Matrix<const T> last_axes(const Tensor& x) {
  const int r = x.rank();
  const std::int64_t rows = x.shape()[r - 2], columns = x.shape()[r - 1];
  const std::int64_t row_step = x.strides()[r - 2], column_step = x.strides()[r - 1];
  kernels::Matrix<const T> matrix{x.data<T>(), row_step, column_step};
  if (columns == 1 && (rows == 1 || row_step != 1)) matrix.column_step = 1;
  if (rows == 1 && matrix.column_step != 1) matrix.row_step = 1;
  return matrix;
}

// Whether BLAS takes the matrix as it lies.
template <class T>
bool suits_blas(const kernels::Matrix<const T>& x, std::int64_t rows, std::int64_t columns) {
  if (x.column_step == 1) return rows == 1 || x.row_step >= columns;
  return x.row_step == 1 && (columns == 1 || x.column_step >= rows);
}

// Offset of each matrix of the batch relative to the first.
std::vector<std::int64_t> batch_offsets(const Tensor& x) {
  View batch = x.view();
  batch.offset = 0;
  for (int k = 0; k < 2; ++k) {
    batch.shape.erase(batch.shape.rank() - 1);
    batch.strides.erase(batch.strides.rank() - 1);
  }
  batch.numel = element_count(batch.shape);
  std::vector<std::int64_t> offsets;
  const StridedLoop<1> loop({&batch});
  loop.run(0, loop.numel(), [&](const auto& at, const auto& step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) offsets.push_back(at[0] + i * step[0]);
  });
  return offsets;
}

template <class T>
void product(const Tensor& a, const Tensor& b, T beta, Tensor& y) {
  const kernels::Matrix<const T> ma = last_axes<T>(a), mb = last_axes<T>(b);
  const std::int64_t m = y.shape()[y.rank() - 2];
  const std::int64_t n = y.shape()[y.rank() - 1];
  const std::int64_t k = a.shape()[a.rank() - 1];
  if (y.numel() == 0) return;
  if (kernels::products_use_blas()) {
    if (!suits_blas(ma, m, k)) return product<T>(copy_of(a), b, beta, y);
    if (!suits_blas(mb, k, n)) return product<T>(a, copy_of(b), beta, y);
  }
  const auto at_a = batch_offsets(a);
  const auto at_b = batch_offsets(b);
  T* out = y.mutable_data<T>();
  const auto batches = static_cast<std::int64_t>(at_a.size());
  const kernels::GemmParts parts = kernels::gemm_parts(m, n, k, num_threads());
  const auto task = [&](std::int64_t index) {
    const auto batch = static_cast<std::size_t>(index / parts.count());
    kernels::gemm_part<T>(parts, index % parts.count(), m, n, k,
                          {ma.data + at_a[batch], ma.row_step, ma.column_step},
                          {mb.data + at_b[batch], mb.row_step, mb.column_step}, beta,
                          out + static_cast<std::int64_t>(batch) * m * n, n);
  };
  // Small products are grouped, so that a chunk is worth a thread.
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k + 1);
  const auto grain = parts.count() > 1 ? std::int64_t{1}
                                       : std::max<std::int64_t>(1, static_cast<std::int64_t>(0x1p20 / work));
  parallel_for(batches * parts.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) task(i);
  });
}

}  // namespace

void product_into(const Tensor& a, const Tensor& b, double beta, Tensor& y) {
  const kernels::FlushSubnormals flush(y.dtype() == DType::f32);
  visit_floating(y.dtype(),
                 [&]<class T>(std::type_identity<T>) { product<T>(a, b, static_cast<T>(beta), y); });
}

}  // namespace heed::detail
