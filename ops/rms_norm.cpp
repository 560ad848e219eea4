#include <heed/ops/norm_rows.h>
#include <heed/ops/rms_norm.h>

namespace heed {

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, double epsilon) {
  return detail::normalize("rms_norm", false, x, normalized_shape, weight, {}, epsilon);
}

}  // namespace heed
