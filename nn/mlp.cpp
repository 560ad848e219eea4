#include <heed/core/checked_arithmetic.h>
#include <heed/nn/mlp.h>
#include <heed/ops/arithmetic.h>

namespace heed::nn {

MLPOptions resolved(MLPOptions options) {
  if (options.hidden == 0) options.hidden = checked_mul("MLP", "hidden", 4, options.dim);
  return options;
}

MLP::MLP(const MLPOptions& options, Generator& generator)
    : Module("MLP"),
      options_(resolved(options)),
      up({options_.dim, options_.hidden, options_.bias}, generator),
      down({options_.hidden, options_.dim, options_.bias}, generator) {
  if (options.gated) gate.emplace(up.options(), generator);
}

Tensor MLP::operator()(const Tensor& x) const {
  const Scope scope = enter();
  const Tensor wide = up(x);
  return down(gate ? activate((*gate)(x), options_.activation) * wide : activate(wide, options_.activation));
}

}  // namespace heed::nn
