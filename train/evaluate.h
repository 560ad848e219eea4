#pragma once

#include <heed/nn/causal_lm.h>
#include <heed/text/packed_loader.h>
#include <heed/text/window_loader.h>
#include <heed/train/distributed/world.h>

namespace heed::train {

/// Mean cross-entropy of a batch in nats per counted token, recorded on the tape.
Tensor batch_loss(const nn::CausalLM& model, const text::Batch& batch, Generator* generator = nullptr);

/// Mean cross-entropy in nats per counted token over all windows or rows, in evaluation mode and without a
/// tape. With a World it is collective, and each rank evaluates its share of the batches.
/// Throws    ValueError without a counted target.
double mean_loss(nn::CausalLM& model, const text::WindowSequence& windows,
                 const distributed::World* world = nullptr);
double mean_loss(nn::CausalLM& model, const text::PackedSequence& rows,
                 const distributed::World* world = nullptr);

}  // namespace heed::train
