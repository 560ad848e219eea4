#include <heed/core/arguments.h>
#include <heed/nn/init.h>
#include <heed/nn/norm.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/rms_norm.h>

namespace heed::nn {
namespace {

std::string_view name_of(NormKind kind) { return kind == NormKind::rms ? "RMSNorm" : "LayerNorm"; }

}  // namespace

NormOptions resolved(NormOptions options) {
  const std::string_view module = name_of(options.kind);
  if (options.normalized_shape.empty()) {
    fail<ValueError>(module, "normalized_shape has no axes", {}, "one or more");
  }
  if (!options.epsilon) options.epsilon = options.kind == NormKind::rms ? 1e-6 : 1e-5;
  check_value(*options.epsilon >= 0, module, "epsilon", *options.epsilon, "0 or more");
  return options;
}

Norm::Norm(const NormOptions& options) : Module(name_of(options.kind)), options_(resolved(options)) {
  weight = constant_parameter(options.normalized_shape, 1);
  const bool biased = options.bias && options.kind == NormKind::layer;
  if (biased) bias = constant_parameter(options.normalized_shape, 0);
}

Tensor Norm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return options_.kind == NormKind::rms
             ? rms_norm(x, options_.normalized_shape, weight, *options_.epsilon)
             : layer_norm(x, options_.normalized_shape, weight, bias, *options_.epsilon);
}

}  // namespace heed::nn
