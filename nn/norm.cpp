#include <heed/core/check.h>
#include <heed/core/scope.h>
#include <heed/nn/init.h>
#include <heed/nn/norm.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/rms_norm.h>

namespace heed::nn {
namespace {

void check_options(std::string_view module, const Shape& normalized_shape, double epsilon) {
  if (normalized_shape.empty()) fail<ValueError>(module, "normalized_shape has no axes", {}, "one or more");
  check_value(epsilon >= 0, module, "epsilon", epsilon, "0 or more");
}

}  // namespace

LayerNorm::LayerNorm(const LayerNormOptions& options) : Module("LayerNorm"), options_(options) {
  check_options("LayerNorm", options.normalized_shape, options.epsilon);
  weight = constant_parameter(options.normalized_shape, 1);
  if (options.bias) bias = constant_parameter(options.normalized_shape, 0);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return layer_norm(x, options_.normalized_shape, weight, bias, options_.epsilon);
}

RMSNorm::RMSNorm(const RMSNormOptions& options) : Module("RMSNorm"), options_(options) {
  check_options("RMSNorm", options.normalized_shape, options.epsilon);
  weight = constant_parameter(options.normalized_shape, 1);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return rms_norm(x, options_.normalized_shape, weight, options_.epsilon);
}

Norm::Norm(const NormOptions& options) : Module("Norm"), options_(options) {
  check_options("Norm", options.normalized_shape, options.epsilon);
  weight = constant_parameter(options.normalized_shape, 1);
  const bool biased = options.bias && options.kind == NormKind::layer;
  if (biased) bias = constant_parameter(options.normalized_shape, 0);
}

Tensor Norm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return options_.kind == NormKind::rms
             ? rms_norm(x, options_.normalized_shape, weight, options_.epsilon)
             : layer_norm(x, options_.normalized_shape, weight, bias, options_.epsilon);
}

}  // namespace heed::nn
