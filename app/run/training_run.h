#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <heed/app/run/text_data.h>
#include <heed/app/settings/train_options.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/optim/recipe.h>
#include <heed/optim/watchers.h>
#include <heed/optim/weight_average.h>
#include <heed/text/window_loader.h>
#include <heed/train/checkpoint.h>
#include <heed/train/distributed/gradient_reducer.h>
#include <heed/train/report/run_log.h>

namespace heed::app {

/// Functions to be called while a step is taken; either may be empty.
struct StepWatch {
  std::function<void()> begin;                ///< before the forward, the batches being drawn
  std::function<void()> gradients_are_there;  ///< after the backward, before the gradients are clipped
};

/// Everything that a step of training reads or changes, made from the options and a text. The text and the
/// world must outlive it. Every rank of the world has one, and they take every step together.
struct TrainingRun {
  TrainingRun(const TrainOptions& options, const TextData& text,
              const heed::train::distributed::World& world);
  TrainingRun(const TrainingRun&) = delete;  // judge holds the model
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// This rank's rows of the parts of one large batch.
  std::vector<heed::text::Batch> batches(std::int64_t number) const;

  /// One step: gradients of a large batch, clipped, then the optimizer's step unless `guard` refuses it.
  heed::train::report::StepRecord train_step(const StepWatch& watch = {});

  /// All of it as it is now.
  heed::train::Checkpoint checkpoint(std::optional<double> validation_loss) const;
  /// Goes on from a checkpoint.
  /// Throws    ValueError: it is of another text, model, optimizer or seed, or does not fit.
  void restore(const heed::train::Checkpoint& checkpoint);
  /// Before the first step: gives all ranks the parameters of rank 0.
  /// Throws    ValueError: the ranks are not at the same run and step.
  void agree() const;

  const heed::train::distributed::World& world;
  TrainOptions options;
  std::string config;      // the settings and checksums of text and tokenizer, as JSON
  heed::Generator random;  // after the model is made, of this rank alone
  heed::nn::CausalLM model;
  heed::nn::NamedTensors parameters;
  heed::train::distributed::GradientReducer reducer;
  std::unique_ptr<heed::optim::Optimizer> optimizer;
  heed::optim::Schedule learning_rate;
  std::function<heed::text::Batch(std::int64_t number)> draw;  // this rank's rows of a batch to train on
  std::function<double()> judge;                               // the validation loss of the model as it is
  std::unique_ptr<heed::optim::WeightAverage> average;         // none: off
  std::optional<heed::optim::EarlyStopping> stopping;
  std::optional<heed::optim::SpikeGuard> guard;
  std::int64_t step = 0;  // steps done

 private:
  void draw_from(const TextData& text);
};

}  // namespace heed::app
