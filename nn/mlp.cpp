#include <heed/core/scope.h>
#include <heed/nn/mlp.h>
#include <heed/ops/arithmetic.h>

namespace heed::nn {
namespace {

std::int64_t hidden_size(const MLPOptions& options) {
  return options.hidden == 0 ? 4 * options.dim : options.hidden;
}

}  // namespace

MLP::MLP(const MLPOptions& options, Generator& generator)
    : Module("MLP"),
      up({options.dim, hidden_size(options), options.bias}, generator),
      down({hidden_size(options), options.dim, options.bias}, generator),
      options_(options) {
  if (options.gated) gate.emplace(up.options(), generator);
}

Tensor MLP::operator()(const Tensor& x) const {
  const Scope scope = enter();
  const Tensor wide = up(x);
  return down(gate ? activate((*gate)(x), options_.activation) * wide : activate(wide, options_.activation));
}

}  // namespace heed::nn
