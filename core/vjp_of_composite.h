#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include <heed/core/vjp_context.h>

namespace heed::detail {

/// The results of a fused operation as recorded operations compute them. It gets the operation's inputs in
/// their order, undefined where an optional one is absent.
using Composite = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

/// The rule of a fused operation where its fused backward will not do, above all where the backward is
/// recorded: runs `composite` and differentiates what it recorded. So the gradients have derivatives
/// themselves, of any order. `inputs` are the operation's first inputs as it saved them; the gradient of each
/// one that is needed is set.
void vjp_of_composite(VjpContext& context, std::initializer_list<const SavedTensor*> inputs,
                      const Composite& composite);

}  // namespace heed::detail
