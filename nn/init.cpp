#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/init.h>

namespace heed::nn {

Tensor normal_parameter(const Shape& shape, Generator& generator, double deviation, DType dtype) {
  return randn(shape, generator, dtype, 0.0, deviation).set_requires_grad();
}

Tensor uniform_parameter(const Shape& shape, Generator& generator, double bound, DType dtype) {
  return rand(shape, generator, dtype, -bound, bound).set_requires_grad();
}

Tensor constant_parameter(const Shape& shape, double value, DType dtype) {
  return full(shape, value, dtype).set_requires_grad();
}

void reset_normal(Tensor& parameter, Generator& generator, double deviation) {
  const NoGrad guard;
  parameter.copy_(randn(parameter.shape(), generator, parameter.dtype(), 0.0, deviation));
}

}  // namespace heed::nn
