#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/optim/schedule.h>

namespace heed::optim {
namespace {

void require(bool ok, std::string_view op, std::string_view argument, double given,
             std::string_view expected) {
  if (!ok) fail<ValueError>(op, "value out of range", fmt::format("{} is {}", argument, given), expected);
}

void require_rate(std::string_view op, std::string_view argument, double rate) {
  require(std::isfinite(rate) && rate >= 0, op, argument, rate, "a finite number of at least 0");
}

void require_minimum(std::string_view op, double min_lr, double lr) {
  require(std::isfinite(min_lr) && min_lr >= 0 && min_lr <= lr, op, "min_lr", min_lr,
          fmt::format("0 to lr, which is {}", lr));
}

void require_count(std::string_view op, std::string_view argument, std::int64_t count, std::int64_t least) {
  require(count >= least, op, argument, static_cast<double>(count), fmt::format("at least {}", least));
}

// From `from` at share 0 to `to` at share 1 along half a cosine.
double cosine_arc(double from, double to, double share) {
  return to + 0.5 * (1 + std::cos(std::numbers::pi * share)) * (from - to);
}

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Of a warmup; counts up to the end of 64 bits have no successor there.
double risen(std::int64_t step, std::int64_t warmup) {
  return (static_cast<double>(step) + 1) / (static_cast<double>(warmup) + 1);
}

// Wraps the formula with the check that every schedule shares.
template <class Formula>
Schedule schedule(std::string_view op, Formula formula) {
  return [op, formula](std::int64_t step) {
    require_count(op, "step", step, 0);
    return formula(step);
  };
}

}  // namespace

Schedule warmup_cosine(const WarmupCosineOptions& options) {
  constexpr std::string_view op = "warmup_cosine";
  require_rate(op, "lr", options.lr);
  require_minimum(op, options.min_lr, options.lr);
  require_count(op, "warmup", options.warmup, 0);
  require_count(op, "total", options.total, 1);
  return schedule(op, [options](std::int64_t step) {
    const auto& [lr, min_lr, warmup, total] = options;
    if (step < warmup) return lr * risen(step, warmup);
    const double share = ratio(step - warmup, std::max<std::int64_t>(1, total - warmup));
    return cosine_arc(lr, min_lr, std::min(1.0, share));
  });
}

Schedule warmup_stable_decay(const WarmupStableDecayOptions& options) {
  constexpr std::string_view op = "warmup_stable_decay";
  require_rate(op, "lr", options.lr);
  require_minimum(op, options.min_lr, options.lr);
  require_count(op, "warmup", options.warmup, 0);
  require_count(op, "decay", options.decay, 0);
  require_count(op, "total", options.total, 1);
  require(options.decay <= options.total - options.warmup, op, "decay", static_cast<double>(options.decay),
          fmt::format("at most total {} less warmup {}", options.total, options.warmup));
  return schedule(op, [options](std::int64_t step) {
    const auto& [lr, min_lr, warmup, decay, total] = options;
    if (step < warmup) return lr * risen(step, warmup);
    if (step >= total) return decay == 0 ? lr : min_lr;
    const std::int64_t late = step - (total - decay);
    return late <= 0 ? lr : lr + (min_lr - lr) * ratio(late, decay);
  });
}

Schedule step_decay(const StepDecayOptions& options) {
  constexpr std::string_view op = "step_decay";
  require_rate(op, "lr", options.lr);
  require_count(op, "step_size", options.step_size, 1);
  require_rate(op, "gamma", options.gamma);
  return schedule(op, [options](std::int64_t step) {
    const std::int64_t decays = step / options.step_size;
    return options.lr * std::pow(options.gamma, static_cast<double>(decays));
  });
}

Schedule multi_step_decay(const MultiStepDecayOptions& options) {
  constexpr std::string_view op = "multi_step_decay";
  require_rate(op, "lr", options.lr);
  require_rate(op, "gamma", options.gamma);
  for (const std::int64_t milestone : options.milestones) require_count(op, "milestone", milestone, 0);
  return schedule(op, [options](std::int64_t step) {
    const auto passed = std::count_if(options.milestones.begin(), options.milestones.end(),
                                      [step](std::int64_t milestone) { return milestone <= step; });
    return options.lr * std::pow(options.gamma, static_cast<double>(passed));
  });
}

Schedule linear_ramp(const LinearRampOptions& options) {
  constexpr std::string_view op = "linear_ramp";
  require_rate(op, "lr", options.lr);
  require_rate(op, "start_factor", options.start_factor);
  require_rate(op, "end_factor", options.end_factor);
  require_count(op, "total", options.total, 1);
  return schedule(op, [options](std::int64_t step) {
    const double share = ratio(std::min(step, options.total), options.total);
    return options.lr * (options.start_factor + (options.end_factor - options.start_factor) * share);
  });
}

Schedule exponential_decay(const ExponentialDecayOptions& options) {
  constexpr std::string_view op = "exponential_decay";
  require_rate(op, "lr", options.lr);
  require_rate(op, "gamma", options.gamma);
  return schedule(op, [options](std::int64_t step) {
    return options.lr * std::pow(options.gamma, static_cast<double>(step));
  });
}

Schedule cosine_annealing(const CosineAnnealingOptions& options) {
  constexpr std::string_view op = "cosine_annealing";
  require_rate(op, "lr", options.lr);
  require_minimum(op, options.min_lr, options.lr);
  require_count(op, "half_period", options.half_period, 1);
  return schedule(op, [options](std::int64_t step) {
    // Whole periods are taken off as integers, so the argument of the cosine stays exact.
    // A period beyond 64 bits is never over.
    constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max() / 2;
    const bool over = options.half_period <= longest && step >= 2 * options.half_period;
    const std::int64_t within = over ? step % (2 * options.half_period) : step;
    return cosine_arc(options.lr, options.min_lr, ratio(within, options.half_period));
  });
}

Schedule cosine_restarts(const CosineRestartsOptions& options) {
  constexpr std::string_view op = "cosine_restarts";
  require_rate(op, "lr", options.lr);
  require_minimum(op, options.min_lr, options.lr);
  require_count(op, "first_period", options.first_period, 1);
  require_count(op, "period_factor", options.period_factor, 1);
  return schedule(op, [options](std::int64_t step) {
    constexpr std::int64_t longest_period = std::numeric_limits<std::int64_t>::max();
    const std::int64_t factor = options.period_factor;
    std::int64_t period = options.first_period;
    if (factor == 1) step %= period;
    while (step >= period) {
      step -= period;
      period = period > longest_period / factor ? longest_period : period * factor;
    }
    return cosine_arc(options.lr, options.min_lr, ratio(step, period));
  });
}

Schedule one_cycle(const OneCycleOptions& options) {
  constexpr std::string_view op = "one_cycle";
  require_rate(op, "max_lr", options.max_lr);
  require_count(op, "total", options.total, 1);
  require(options.rise_share >= 0 && options.rise_share <= 1, op, "rise_share", options.rise_share, "0 to 1");
  require(options.start_divisor > 0, op, "start_divisor", options.start_divisor, "more than 0");
  require(options.end_divisor > 0, op, "end_divisor", options.end_divisor, "more than 0");
  return schedule(op, [options, op](std::int64_t step) {
    require(step < options.total, op, "step", static_cast<double>(step),
            fmt::format("below {}", options.total));
    const double start = options.max_lr / options.start_divisor;
    const double peak_step = options.rise_share * static_cast<double>(options.total) - 1;
    const double last_step = static_cast<double>(options.total - 1);
    const auto t = static_cast<double>(step);
    if (t <= peak_step) return cosine_arc(start, options.max_lr, peak_step > 0 ? t / peak_step : 1.0);
    return cosine_arc(options.max_lr, start / options.end_divisor, (t - peak_step) / (last_step - peak_step));
  });
}

}  // namespace heed::optim
