#include <heed/ops/layer_norm.h>
#include <heed/ops/norm_rows.h>

namespace heed {

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  return detail::normalize("layer_norm", true, x, normalized_shape, weight, bias, epsilon);
}

}  // namespace heed
