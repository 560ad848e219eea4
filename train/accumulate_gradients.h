#pragma once

#include <functional>
#include <span>

#include <heed/text/window_loader.h>
#include <heed/train/distributed/gradient_reducer.h>

namespace heed::train {

struct AccumulatedLoss {
  double loss = 0;          // mean over all counted tokens
  std::int64_t tokens = 0;  // counted in the loss
};

/// Gives the mean loss of one batch over its counted tokens.
using BatchLoss = std::function<Tensor(const text::Batch&)>;

/// Loss and gradients of one large batch that is given in parts. With n_i counted tokens in part i and N =
/// Σ n_i, loss = Σ (n_i / N) loss_i, so every token has the same weight however the batch is divided.
/// Gradients are added to those already stored. A token counts unless its target is `ignore_index`; a part
/// without counted tokens is skipped.
AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     std::int64_t ignore_index = text::no_target);

/// Collective: all ranks must call it. The same for a batch whose parts are spread over the ranks of the
/// reducer's World: on every rank N, loss and gradients are those of all ranks together. Each rank sends
/// its gradients once, during its last backward.
AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     distributed::GradientReducer& reducer,
                                     std::int64_t ignore_index = text::no_target);

}  // namespace heed::train
