#include <cmath>

#include <heed/core/arguments.h>
#include <heed/nn/init.h>
#include <heed/nn/linear.h>
#include <heed/ops/linear.h>

namespace heed::nn {

Linear::Linear(const LinearOptions& options, Generator& generator) : Module("Linear"), options_(options) {
  check_value(options.in >= 1, "Linear", "in", options.in, "at least 1");
  check_value(options.out >= 1, "Linear", "out", options.out, "at least 1");
  const double bound = 1.0 / std::sqrt(static_cast<double>(options.in));
  weight = uniform_parameter({options.out, options.in}, generator, bound);
  if (options.bias) bias = uniform_parameter({options.out}, generator, bound);
}

Tensor Linear::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return linear(x, weight, bias);
}

}  // namespace heed::nn
