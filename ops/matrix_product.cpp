#include <algorithm>
#include <optional>
#include <vector>

#include <heed/core/elements.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/kernels/gemm.h>
#include <heed/ops/matrix_product.h>

namespace heed::detail {
namespace {

// The last two axes as BLAS takes them; nothing when neither axis has unit stride.
template <class T>
std::optional<kernels::Matrix<const T>> as_blas_matrix(const Tensor& x) {
  const int r = x.rank();
  const std::int64_t rows = x.shape()[r - 2];
  const std::int64_t columns = x.shape()[r - 1];
  const std::int64_t row_step = x.strides()[r - 2];
  const std::int64_t column_step = x.strides()[r - 1];
  const T* data = x.data<T>();
  // The stride of an axis of size 1 means nothing, so BLAS gets the smallest leading size it accepts.
  if ((column_step == 1 || columns == 1) && (row_step >= columns || rows == 1)) {
    return kernels::Matrix<const T>{
        data, std::max({rows == 1 ? columns : row_step, columns, std::int64_t{1}}), false};
  }
  if ((row_step == 1 || rows == 1) && (column_step >= rows || columns == 1)) {
    return kernels::Matrix<const T>{
        data, std::max({columns == 1 ? rows : column_step, rows, std::int64_t{1}}), true};
  }
  return std::nullopt;
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
  const auto ma = as_blas_matrix<T>(a);
  const auto mb = as_blas_matrix<T>(b);
  if (!ma) return product<T>(copy_of(a), b, beta, y);
  if (!mb) return product<T>(a, copy_of(b), beta, y);
  const std::int64_t m = y.shape()[y.rank() - 2];
  const std::int64_t n = y.shape()[y.rank() - 1];
  const std::int64_t k = a.shape()[a.rank() - 1];
  if (y.numel() == 0) return;
  const auto at_a = batch_offsets(a);
  const auto at_b = batch_offsets(b);
  T* out = y.mutable_data<T>();
  const auto batches = static_cast<std::int64_t>(at_a.size());
  const kernels::GemmParts parts = kernels::gemm_parts(m, n, k);
  const auto task = [&](std::int64_t index) {
    const auto batch = static_cast<std::size_t>(index / parts.count());
    kernels::gemm_part<T>(parts, index % parts.count(), m, n, k,
                          {ma->data + at_a[batch], ma->leading, ma->transposed},
                          {mb->data + at_b[batch], mb->leading, mb->transposed}, beta,
                          {out + static_cast<std::int64_t>(batch) * m * n, n});
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
  visit_floating(y.dtype(),
                 [&]<class T>(std::type_identity<T>) { product<T>(a, b, static_cast<T>(beta), y); });
}

}  // namespace heed::detail
