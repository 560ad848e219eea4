#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/init.h>
#include <heed/ops/expand.h>

namespace heed::nn {
namespace {

thread_local InitialElements initial_elements = InitialElements::values;

bool skipping() { return initial_elements != InitialElements::values; }

Tensor skipped(const Shape& shape, DType dtype) {
  const bool none = initial_elements == InitialElements::none;
  return (none ? expand(zeros({}, dtype), shape) : empty(shape, dtype)).set_requires_grad();
}

}  // namespace

Tensor normal_parameter(const Shape& shape, Generator& generator, double deviation, DType dtype) {
  if (skipping()) return skipped(shape, dtype);
  return randn(shape, generator, dtype, 0.0, deviation).set_requires_grad();
}

Tensor uniform_parameter(const Shape& shape, Generator& generator, double bound, DType dtype) {
  if (skipping()) return skipped(shape, dtype);
  return rand(shape, generator, dtype, -bound, bound).set_requires_grad();
}

Tensor constant_parameter(const Shape& shape, double value, DType dtype) {
  if (skipping()) return skipped(shape, dtype);
  return full(shape, value, dtype).set_requires_grad();
}

void reset_normal(Tensor& parameter, Generator& generator, double deviation) {
  if (skipping()) return;
  const NoGrad guard;
  parameter.copy_(randn(parameter.shape(), generator, parameter.dtype(), 0.0, deviation));
}

void reset_constant(Tensor& parameter, double value) {
  if (skipping()) return;
  const NoGrad guard;
  parameter.fill_(value);
}

SkipInit::SkipInit(InitialElements elements) noexcept : elements_(initial_elements, elements) {}

}  // namespace heed::nn
