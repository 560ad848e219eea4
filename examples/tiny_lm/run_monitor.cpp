#include "run_monitor.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <sys/resource.h>

#include <heed/core/error.h>

namespace tiny_lm {
namespace {

constexpr std::size_t kLastSteps = 100;

std::unique_ptr<heed::train::JsonlLog> new_log(const std::filesystem::path& folder) {
  if (folder.empty()) return nullptr;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (!code) std::filesystem::remove(folder / "log.jsonl", code);
  if (code) {
    heed::fail<heed::IoError>("train", fmt::format("cannot write to the folder '{}'", folder.string()),
                              code.message());
  }
  return std::make_unique<heed::train::JsonlLog>(folder / "log.jsonl");
}

}  // namespace

RunMonitor::RunMonitor(const TrainOptions& options)
    : tokens_per_step_(options.batch * options.context),
      log_(new_log(options.out)),
      progress_({.total = options.steps}) {}

void RunMonitor::begin_step() { began_ = Clock::now(); }

void RunMonitor::end_step(double loss, double lr) {
  const std::chrono::duration<double, std::milli> duration = Clock::now() - began_;
  milliseconds_.push_back(duration.count());
  const auto step = static_cast<double>(steps());
  train_curve_.push_back({step, loss});
  lr_curve_.push_back({step, lr});
  if (log_) log_->write({{"step", steps()}, {"loss", loss}, {"lr", lr}, {"ms", duration.count()}});
  progress_.step(loss, tokens_per_step_);
}

double RunMonitor::evaluate(const std::function<double()>& validation_loss) {
  progress_.pause();
  const double loss = validation_loss();
  progress_.resume();
  validation_curve_.push_back({static_cast<double>(steps()), loss});
  if (log_) log_->write({{"step", steps()}, {"val_loss", loss}});
  progress_.validation(loss);
  return loss;
}

double RunMonitor::median_milliseconds() const {
  std::vector<double> sorted = milliseconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double RunMonitor::train_loss() const {
  const std::size_t count = std::min(kLastSteps, train_curve_.size());
  const auto first = train_curve_.end() - static_cast<std::ptrdiff_t>(count);
  const auto add = [](double sum, const heed::train::CurvePoint& point) { return sum + point.value; };
  return std::accumulate(first, train_curve_.end(), 0.0, add) / static_cast<double>(count);
}

double peak_rss_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // ru_maxrss is in KiB
}

}  // namespace tiny_lm
