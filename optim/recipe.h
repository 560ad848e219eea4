#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <heed/optim/optimizer.h>
#include <heed/optim/schedule.h>

namespace heed::optim {

/// The options that several optimizers have, under common names. Each optimizer takes those that it knows and
/// keeps its defaults for the rest.
struct OptimizerSettings {
  double lr = 1e-3;
  double weight_decay = 0;
  double beta1 = 0.9;    // adamw, adam, nadam, radam
  double beta2 = 0.999;  // the same; alpha of rmsprop
  double momentum = 0;   // sgd, rmsprop
};

/// adamw, adam, nadam, radam, sgd, rmsprop, adagrad, adadelta.
const std::vector<std::string>& optimizer_names();
/// The optimizer with this name.
/// Throws    ValueError for another name, and as its constructor.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, nn::NamedTensors parameters,
                                          const OptimizerSettings& settings);

/// The course of the learning rate over a whole run.
struct ScheduleSettings {
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t decay = 400;  // of warmup-stable-decay
  std::int64_t total = 2000;
};

/// cosine (warmup_cosine), warmup-stable-decay, constant, linear (from lr to min_lr), exponential (the
/// same), step (three steps down to min_lr in equal ratios), multi-step (to √(lr·min_lr) at half and to
/// min_lr at three quarters), cosine-annealing, cosine-restarts (three periods, each twice as long as
/// the one before), one-cycle.
const std::vector<std::string>& schedule_names();
/// The schedule with this name over `total` steps. One without a warm-up of its own begins with that of
/// warmup_cosine, and counts its steps from the end of it.
/// Throws    ValueError for another name, and as the schedule itself.
Schedule make_schedule(std::string_view name, const ScheduleSettings& settings);

}  // namespace heed::optim
