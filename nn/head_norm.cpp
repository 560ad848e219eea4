#include <heed/core/check.h>
#include <heed/core/scope.h>
#include <heed/nn/head_norm.h>
#include <heed/nn/init.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/rms_norm.h>

namespace heed::nn {

HeadNorm::HeadNorm(const HeadNormOptions& options) : Module("HeadNorm"), options_(options) {
  check_value(options.head_dim >= 1, "HeadNorm", "head_dim", options.head_dim, "at least 1");
  check_value(options.epsilon.value_or(0) >= 0, "HeadNorm", "epsilon", options.epsilon.value_or(0),
              "0 or more");
  if (options.kind != QkNorm::none) weight = constant_parameter({options.head_dim}, 1);
  if (options.kind == QkNorm::layer) bias = constant_parameter({options.head_dim}, 0);
}

Tensor HeadNorm::operator()(const Tensor& x) const {
  if (options_.kind == QkNorm::none) return x;
  const Scope scope = enter();
  const Shape channels = {options_.head_dim};
  return options_.kind == QkNorm::rms
             ? rms_norm(x, channels, weight, options_.epsilon.value_or(1e-6))
             : layer_norm(x, channels, weight, bias, options_.epsilon.value_or(1e-5));
}

}  // namespace heed::nn
