#include "training.h"

#include <heed/core/backward.h>
#include <heed/optim/clip.h>

namespace heed::bench {

TrainingStep::TrainingStep(const TrainingSize& size)
    : size_(size),
      model_({.vocab_size = vocabulary,
              .context = size.context,
              .num_layers = size.layers,
              .num_heads = size.heads,
              .embed_dim = size.width,
              .bias = false},
             generator_),
      parameters_(model_.named_parameters()),
      optimizer_(parameters_, {.lr = 1e-4, .beta2 = 0.99, .weight_decay = 0.1}),
      tokens_(randint(0, vocabulary, {size.batch, size.context}, generator_)),
      targets_(randint(0, vocabulary, {size.batch, size.context}, generator_)) {
  optimizer_.decay_matrices_only();
}

double TrainingStep::operator()() {
  const Tensor loss = forward();
  backward(loss);
  update();
  return loss.item<float>();
}

void TrainingStep::update() {
  optim::clip_grad_norm(parameters_, 1.0);
  optimizer_.step();
  optimizer_.zero_grad();
}

double TrainingStep::flop() const {
  const TrainingSize& s = size_;
  const auto tokens = static_cast<double>(s.batch * s.context);
  const auto weights = static_cast<double>(12 * s.layers * s.width * s.width + vocabulary * s.width);
  return tokens * (6 * weights + 6.0 * static_cast<double>(s.context * s.width * s.layers));
}

}  // namespace heed::bench
