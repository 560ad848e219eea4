#include <heed/core/alias.h>
#include <heed/core/backward.h>
#include <heed/core/grad_mode.h>
#include <heed/core/vjp_of_composite.h>

namespace heed::detail {

void vjp_of_composite(VjpContext& context, std::initializer_list<const SavedTensor*> inputs,
                      const Composite& composite) {
  GradOptions how{.create_graph = context.recording(), .allow_unused = true};
  const GradMode recorded(true);
  std::vector<Tensor> x;
  std::vector<int> needed;
  std::vector<Tensor> needed_x;
  for (const SavedTensor* saved : inputs) {
    // An alias keeps the history of the operand, and gradients of the composite stop there.
    const Tensor operand = context.unpack(*saved);
    x.push_back(operand.defined() ? alias(operand, false) : Tensor());
    const int input = static_cast<int>(x.size()) - 1;
    if (!operand.defined() || !context.needs(input)) continue;
    needed.push_back(input);
    needed_x.push_back(x.back());
  }
  const std::vector<Tensor> results = composite(x);
  std::vector<Tensor> used;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const int output = static_cast<int>(i);
    if (!context.has_cotangent(output)) continue;
    used.push_back(results[i]);
    how.grad_outputs.push_back(context.cotangent(output));
  }
  const std::vector<Tensor> gradients = grad(used, needed_x, how);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (gradients[i].defined()) context.set(needed[i], gradients[i]);
  }
}

}  // namespace heed::detail
