#include "run_monitor.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>

namespace tiny_lm {
namespace {

constexpr std::size_t kLastSteps = 100;

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The lines of an earlier run's log that belong to its first `steps` steps, a torn or foreign one left out.
std::vector<std::string> lines_of(const fs::path& log, std::int64_t steps) {
  std::vector<std::string> lines;
  if (steps == 0 || !fs::exists(log)) return lines;
  std::istringstream text(heed::io::read_file(log));
  for (std::string line; std::getline(text, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    const bool ours = entry.is_object() && entry.contains("step") && entry["step"].is_number_integer();
    if (ours && entry["step"].get<std::int64_t>() <= steps) lines.push_back(line);
  }
  return lines;
}

void make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!code) return;
  heed::fail<heed::IoError>("train", fmt::format("cannot write to the folder '{}'", folder.string()),
                            code.message());
}

double number_in(const Json& entry, const char* name) {
  const Json value = entry.value(name, Json());
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

RunMonitor::RunMonitor(const TrainOptions& options, std::int64_t steps_done)
    : tokens_per_step_(options.batch * options.context * options.accumulate),
      steps_(steps_done),
      progress_({.total = std::max(options.steps, steps_done + 1), .first_step = steps_done}) {
  if (options.out.empty()) return;
  make_folder(options.out);
  const fs::path path = options.out / "log.jsonl";
  const std::vector<std::string> kept = lines_of(path, steps_done);
  for (const std::string& line : kept) take_up(line);
  heed::io::write_file(path, kept.empty() ? "" : fmt::format("{}\n", fmt::join(kept, "\n")));
  log_ = std::make_unique<heed::train::JsonlLog>(path);
}

void RunMonitor::take_up(const std::string& line) {
  const Json entry = Json::parse(line);
  const auto step = entry["step"].get<double>();
  if (entry.contains("loss")) {
    train_curve_.push_back({step, number_in(entry, "loss")});
    lr_curve_.push_back({step, number_in(entry, "lr")});
    milliseconds_.push_back(number_in(entry, "ms"));
  } else {
    validation_curve_.push_back({step, number_in(entry, "val_loss")});
  }
}

bool RunMonitor::validated() const {
  return !validation_curve_.empty() && validation_curve_.back().step == static_cast<double>(steps_);
}

void RunMonitor::begin_step() { began_ = Clock::now(); }

void RunMonitor::end_step(double loss, double lr) {
  const std::chrono::duration<double, std::milli> duration = Clock::now() - began_;
  ++steps_;
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
  if (sorted.empty()) return 0;
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
