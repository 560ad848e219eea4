#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/core/tensor.h>
#include <heed/nn/causal_lm.h>
#include <heed/optim/adamw.h>

namespace heed::bench {

/// The size of a model that the programs of other frameworks train: nanoGPT's recipe without biases.
struct TrainingSize {
  std::int64_t layers, heads, width, context, batch;
};

inline constexpr TrainingSize nano{4, 4, 128, 64, 12};
inline constexpr TrainingSize ten_million{6, 6, 384, 256, 8};
inline constexpr std::int64_t vocabulary = 65;

/// Training steps on one batch of random tokens: forward, backward, clipping, AdamW.
class TrainingStep {
 public:
  explicit TrainingStep(const TrainingSize& size);
  /// Takes one step and returns the loss before it.
  double operator()();
  Tensor forward() const { return model_.loss(tokens_, targets_); }
  void update();
  /// 6 operations for each weight of a matrix and each token, and the half of attention that a
  /// causal mask allows.
  double flop() const;
  const nn::CausalLM& model() const { return model_; }

 private:
  TrainingSize size_;
  Generator generator_{1};
  nn::CausalLM model_;
  nn::NamedTensors parameters_;
  optim::AdamW optimizer_;
  Tensor tokens_, targets_;  // [batch, context]
};

}  // namespace heed::bench
