#pragma once

#include <heed/nn/causal_lm.h>
#include <heed/train/window_loader.h>

namespace heed::train {

/// Mean cross-entropy in nats per token over all windows, in evaluation mode and without a tape.
double mean_loss(nn::CausalLM& model, const WindowSequence& windows);

/// The element of a floating tensor of one element, as double.
double scalar_of(const Tensor& x);

}  // namespace heed::train
