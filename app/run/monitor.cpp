#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include <heed/app/output.h>
#include <heed/app/run/monitor.h>
#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>

namespace heed::app {
namespace {

constexpr std::ptrdiff_t last_steps = 100;

namespace fs = std::filesystem;
// Reads the first `steps` steps of an earlier run's log, and removes all later lines from the file.
train::report::RunLog take_up(const fs::path& path, std::int64_t steps) {
  train::report::RunLog log;
  std::string kept;
  if (steps > 0 && fs::exists(path)) {
    std::istringstream text(heed::io::read_file(path));
    for (std::string line; std::getline(text, line);) {
      if (train::report::add_line(log, line, steps)) kept += line + "\n";
    }
  }
  heed::io::write_file(path, kept);
  return log;
}

void make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!code) return;
  heed::fail<heed::IoError>("train", fmt::format("cannot write to the folder '{}'", folder.string()),
                            code.message());
}

}  // namespace

RunMonitor::RunMonitor(const TrainOptions& options, const train::report::RunHeader& header,
                       std::int64_t steps_done)
    : tokens_per_step_(options.batch * options.context * options.accumulate),
      steps_(steps_done),
      progress_({.total = std::max(options.steps, steps_done + 1),
                 .first_step = steps_done,
                 .output = options.quiet ? nullptr : stderr}) {
  if (options.out.empty()) return;
  make_folder(options.out);
  const fs::path path = options.out / "log.jsonl";
  record_ = take_up(path, steps_done);
  log_ = std::make_unique<train::report::JsonlLog>(path);
  if (steps_done == 0) log_->write(train::report::log_line(header));
}

void RunMonitor::write(const std::vector<train::report::LogField>& line) {
  if (log_) write_log([&] { log_->write(line); });
}

bool RunMonitor::complete_log() {
  if (log_) write_log([&] { log_->catch_up(); });
  return !log_lags_;
}

void RunMonitor::write_log(const std::function<void()>& attempt) {
  try {
    attempt();
    log_lags_ = false;
  } catch (const heed::IoError& error) {
    if (std::exchange(log_lags_, true)) return;
    end_line();
    warn("heed: {}; the run goes on, and its log is tried again\n", error.what());
  }
}

bool RunMonitor::validated() const {
  return !record_.evaluations.empty() && record_.evaluations.back().step == steps_;
}

void RunMonitor::begin_step() { began_ = Clock::now(); }

void RunMonitor::end_step(train::report::StepRecord record,
                          const std::function<void(train::report::StepRecord&)>& measure) {
  record.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
  record.step = ++steps_;
  progress_.pause();
  measure(record);
  progress_.resume();
  write(train::report::log_line(record));
  progress_.step(record.loss, tokens_per_step_);
  record_.steps.push_back({.step = record.step, .loss = record.loss, .milliseconds = record.milliseconds});
}

double RunMonitor::evaluate(const std::function<train::report::Evaluation()>& evaluation) {
  progress_.pause();
  const train::report::Evaluation found = evaluation();
  progress_.resume();
  record_.evaluations.push_back(found);
  write(train::report::log_line(found));
  progress_.validation(found.loss);
  return found.loss;
}

double RunMonitor::median_milliseconds() const {
  std::vector<double> sorted;
  for (const train::report::StepRecord& step : record_.steps) sorted.push_back(step.milliseconds);
  if (sorted.empty()) return 0;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double RunMonitor::train_loss() const {
  const auto& steps = record_.steps;
  const auto count = std::min(last_steps, std::ssize(steps));
  const auto add = [](double sum, const train::report::StepRecord& step) { return sum + step.loss; };
  return std::accumulate(steps.end() - count, steps.end(), 0.0, add) / static_cast<double>(count);
}

double peak_rss_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // ru_maxrss is in KiB
}

}  // namespace heed::app
