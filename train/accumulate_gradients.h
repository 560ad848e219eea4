#pragma once

#include <functional>
#include <span>

#include <heed/text/window_loader.h>
#include <heed/train/distributed/gradient_reducer.h>

namespace heed::train {

struct AccumulatedLoss {
  double loss = 0;          // mean over all counted tokens
  std::int64_t tokens = 0;  // counted ones
};

/// The mean loss of one batch over its counted tokens.
using BatchLoss = std::function<Tensor(const text::Batch&)>;

/// Loss and gradients of one large batch that is given in parts: with n_i counted tokens in part i and N = Σ n_i,
/// loss = Σ (n_i / N) loss_i, so every token weighs alike however the parts are cut. Gradients are added to those
/// that are there. A token counts unless its target is `ignore_index`; a part without any is passed over.
AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     std::int64_t ignore_index = text::kNoTarget);

/// Collective. The same of a batch whose parts are spread over the ranks of the reducer's world: N, loss and
/// gradients are those of all ranks together, on every rank. A rank's gradients are sent once, during its last
/// backward.
AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     distributed::GradientReducer& reducer,
                                     std::int64_t ignore_index = text::kNoTarget);

}  // namespace heed::train
