#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/optim/adadelta.h>
#include <heed/optim/adagrad.h>
#include <heed/optim/adam.h>
#include <heed/optim/adamw.h>
#include <heed/optim/nadam.h>
#include <heed/optim/radam.h>
#include <heed/optim/recipe.h>
#include <heed/optim/rmsprop.h>
#include <heed/optim/sgd.h>

namespace heed::optim {
namespace {

using MakeOptimizer = std::unique_ptr<Optimizer> (*)(nn::NamedTensors, const OptimizerSettings&);
using MakeSchedule = Schedule (*)(const ScheduleSettings&);

template <class Make>
using Named = std::vector<std::pair<std::string, Make>>;

template <class Rule, class Options>
std::unique_ptr<Optimizer> with_betas(nn::NamedTensors parameters, const OptimizerSettings& s) {
  return std::make_unique<Rule>(
      std::move(parameters),
      Options{.lr = s.lr, .beta1 = s.beta1, .beta2 = s.beta2, .weight_decay = s.weight_decay});
}

template <class Rule, class Options>
std::unique_ptr<Optimizer> plain(nn::NamedTensors parameters, const OptimizerSettings& s) {
  return std::make_unique<Rule>(std::move(parameters), Options{.lr = s.lr, .weight_decay = s.weight_decay});
}

std::unique_ptr<Optimizer> make_sgd(nn::NamedTensors parameters, const OptimizerSettings& s) {
  return std::make_unique<SGD>(
      std::move(parameters), SGDOptions{.lr = s.lr, .momentum = s.momentum, .weight_decay = s.weight_decay});
}

std::unique_ptr<Optimizer> make_rmsprop(nn::NamedTensors parameters, const OptimizerSettings& s) {
  return std::make_unique<RMSprop>(
      std::move(parameters),
      RMSpropOptions{.lr = s.lr, .alpha = s.beta2, .weight_decay = s.weight_decay, .momentum = s.momentum});
}

const Named<MakeOptimizer>& optimizers() {
  static const Named<MakeOptimizer> table = {{"adamw", with_betas<AdamW, AdamWOptions>},
                                             {"adam", with_betas<Adam, AdamOptions>},
                                             {"nadam", with_betas<NAdam, NAdamOptions>},
                                             {"radam", with_betas<RAdam, RAdamOptions>},
                                             {"sgd", make_sgd},
                                             {"rmsprop", make_rmsprop},
                                             {"adagrad", plain<Adagrad, AdagradOptions>},
                                             {"adadelta", plain<Adadelta, AdadeltaOptions>}};
  return table;
}

// How many steps follow the warm-up.
std::int64_t rest(const ScheduleSettings& s) { return std::max<std::int64_t>(1, s.total - s.warmup); }

double end_factor(const ScheduleSettings& s) { return s.lr == 0 ? 1 : s.min_lr / s.lr; }

Schedule warmed(const ScheduleSettings& s, Schedule schedule) {
  return [s, schedule = std::move(schedule)](std::int64_t step) {
    if (step >= s.warmup || step < 0) return schedule(step < 0 ? step : step - s.warmup);
    return s.lr * static_cast<double>(step + 1) / static_cast<double>(s.warmup + 1);
  };
}

Schedule cosine(const ScheduleSettings& s) {
  return warmup_cosine({.lr = s.lr, .min_lr = s.min_lr, .warmup = s.warmup, .total = s.total});
}

Schedule stable(const ScheduleSettings& s) {
  return warmup_stable_decay(
      {.lr = s.lr, .min_lr = s.min_lr, .warmup = s.warmup, .decay = s.decay, .total = s.total});
}

Schedule constant(const ScheduleSettings& s) {
  return warmed(s, exponential_decay({.lr = s.lr, .gamma = 1}));
}

Schedule linear(const ScheduleSettings& s) {
  return warmed(s,
                linear_ramp({.lr = s.lr, .start_factor = 1, .end_factor = end_factor(s), .total = rest(s)}));
}

Schedule exponential(const ScheduleSettings& s) {
  const double gamma = std::pow(end_factor(s), 1 / static_cast<double>(rest(s)));
  return warmed(s, exponential_decay({.lr = s.lr, .gamma = gamma}));
}

Schedule step(const ScheduleSettings& s) {
  const std::int64_t quarter = std::max<std::int64_t>(1, rest(s) / 4);
  return warmed(s, step_decay({.lr = s.lr, .step_size = quarter, .gamma = std::cbrt(end_factor(s))}));
}

Schedule multi_step(const ScheduleSettings& s) {
  return warmed(
      s, multi_step_decay(
             {.lr = s.lr, .milestones = {rest(s) / 2, rest(s) / 4 * 3}, .gamma = std::sqrt(end_factor(s))}));
}

Schedule annealing(const ScheduleSettings& s) {
  return warmed(s, cosine_annealing({.lr = s.lr, .min_lr = s.min_lr, .half_period = rest(s)}));
}

Schedule restarts(const ScheduleSettings& s) {
  const std::int64_t first = std::max<std::int64_t>(1, (rest(s) + 6) / 7);  // 1 + 2 + 4 parts
  return warmed(s,
                cosine_restarts({.lr = s.lr, .min_lr = s.min_lr, .first_period = first, .period_factor = 2}));
}

Schedule cycle(const ScheduleSettings& s) { return one_cycle({.max_lr = s.lr, .total = s.total}); }

const Named<MakeSchedule>& schedules() {
  static const Named<MakeSchedule> table = {
      {"cosine", cosine},         {"warmup-stable-decay", stable}, {"constant", constant},
      {"linear", linear},         {"exponential", exponential},    {"step", step},
      {"multi-step", multi_step}, {"cosine-annealing", annealing}, {"cosine-restarts", restarts},
      {"one-cycle", cycle}};
  return table;
}

template <class Make>
std::vector<std::string> names_of(const Named<Make>& table) {
  std::vector<std::string> names;
  for (const auto& [name, make] : table) names.push_back(name);
  return names;
}

template <class Make>
Make find(const Named<Make>& table, std::string_view op, std::string_view name) {
  for (const auto& [known, make] : table) {
    if (known == name) return make;
  }
  fail<ValueError>(op, "unknown name", fmt::format("'{}'", name),
                   fmt::format("one of {}", fmt::join(names_of(table), ", ")));
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = names_of(optimizers());
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, nn::NamedTensors parameters,
                                          const OptimizerSettings& settings) {
  return find(optimizers(), "make_optimizer", name)(std::move(parameters), settings);
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = names_of(schedules());
  return names;
}

Schedule make_schedule(std::string_view name, const ScheduleSettings& settings) {
  constexpr std::string_view op = "make_schedule";
  check_value(settings.lr >= 0 && std::isfinite(settings.lr), op, "lr", settings.lr, "0 or more");
  check_value(settings.min_lr >= 0 && settings.min_lr <= settings.lr, op, "min_lr", settings.min_lr,
              "0 to lr");
  check_value(settings.warmup >= 0, op, "warmup", settings.warmup, "0 or more");
  check_value(settings.total >= 1, op, "total", settings.total, "at least 1");
  return find(schedules(), op, name)(settings);
}

}  // namespace heed::optim
