#pragma once

#include <heed/nn/causal_lm.h>
#include <heed/train/distributed.h>
#include <heed/train/packed_loader.h>
#include <heed/train/window_loader.h>

namespace heed::train {

/// Cross-entropy of a batch in nats per counted token; recorded.
Tensor batch_loss(const nn::CausalLM& model, const Batch& batch, Generator* generator = nullptr);

/// Mean cross-entropy in nats per counted token over all windows or rows, in evaluation mode and without a tape.
/// With a world it is collective, and each rank looks at its share of the batches.
double mean_loss(nn::CausalLM& model, const WindowSequence& windows, const World* world = nullptr);
double mean_loss(nn::CausalLM& model, const PackedSequence& rows, const World* world = nullptr);

/// The element of a floating tensor of one element, as double.
double scalar_of(const Tensor& x);

}  // namespace heed::train
