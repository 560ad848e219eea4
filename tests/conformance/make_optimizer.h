#pragma once

#include <functional>

#include <heed/nn/module.h>

#include "call.h"

namespace heed::conformance {

/// One update of the parameters by the rule that the attribute `optimizer` and
/// torch.optim's options say.
std::function<void()> make_optimizer(const Call& call, const nn::NamedTensors& parameters);

}  // namespace heed::conformance
