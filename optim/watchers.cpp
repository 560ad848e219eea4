#include <cmath>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/optim/state_reader.h>
#include <heed/optim/watchers.h>

namespace heed::optim {

EarlyStopping::EarlyStopping(std::int64_t patience) : patience_(patience) {
  check_value(patience >= 1, "EarlyStopping", "patience", patience, "at least 1");
}

bool EarlyStopping::observe(double loss) {
  if (loss < best_) {
    best_ = loss;
    waited_ = 0;
  } else {
    ++waited_;
  }
  return waited_ >= patience_;
}

nn::NamedTensors EarlyStopping::state_dict() const {
  return {{"best", scalar(best_)}, {"waited", scalar(waited_)}};
}

void EarlyStopping::load_state_dict(const nn::NamedTensors& state) {
  StateReader reader(state);
  const double best = reader.take_double("best");
  const std::int64_t waited = reader.take_int("waited");
  reader.check("EarlyStopping");
  best_ = best;
  waited_ = waited;
}

SpikeGuard::SpikeGuard(const SpikeGuardOptions& options) : options_(options) {
  check_value(options.factor > 1, "SpikeGuard", "factor", options.factor, "above 1");
  check_value(options.memory >= 0 && options.memory < 1, "SpikeGuard", "memory", options.memory,
              "0 <= memory < 1");
  check_value(options.warmup >= 0, "SpikeGuard", "warmup", options.warmup, "0 or more");
  check_value(options.most_in_row >= 1, "SpikeGuard", "most_in_row", options.most_in_row, "at least 1");
}

bool SpikeGuard::is_spike(double value, double mean) const {
  return !std::isfinite(value) || (accepted_ >= options_.warmup && value > options_.factor * mean);
}

bool SpikeGuard::accepts(double loss, double gradient_norm) {
  if (is_spike(loss, mean_loss_) || is_spike(gradient_norm, mean_norm_)) {
    ++refused_;
    if (++in_row_ < options_.most_in_row) return false;
    fail<GradError>(
        "SpikeGuard", fmt::format("{} steps in a row were refused", in_row_),
        fmt::format("the last loss is {} and its gradient norm {}", loss, gradient_norm),
        fmt::format("at most {} times the means {} and {}", options_.factor, mean_loss_, mean_norm_));
  }
  in_row_ = 0;
  const double memory = accepted_ == 0 ? 0 : options_.memory;
  mean_loss_ = memory * mean_loss_ + (1 - memory) * loss;
  mean_norm_ = memory * mean_norm_ + (1 - memory) * gradient_norm;
  ++accepted_;
  return true;
}

nn::NamedTensors SpikeGuard::state_dict() const {
  return {{"mean_loss", scalar(mean_loss_)},
          {"mean_norm", scalar(mean_norm_)},
          {"accepted", scalar(accepted_)},
          {"refused", scalar(refused_)},
          {"in_row", scalar(in_row_)}};
}

void SpikeGuard::load_state_dict(const nn::NamedTensors& state) {
  StateReader reader(state);
  SpikeGuard next(options_);
  next.mean_loss_ = reader.take_double("mean_loss");
  next.mean_norm_ = reader.take_double("mean_norm");
  next.accepted_ = reader.take_int("accepted");
  next.refused_ = reader.take_int("refused");
  next.in_row_ = reader.take_int("in_row");
  reader.check("SpikeGuard");
  *this = next;
}

}  // namespace heed::optim
