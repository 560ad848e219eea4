#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/report/progress.h>

namespace heed::train::report {
namespace {

constexpr std::int64_t plain_lines = 20;
constexpr double smoothing = 0.1;  // weight of the newest step in the running speed

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string speed_text(double tokens_per_second) {
  if (tokens_per_second >= 1e6) return fmt::format("{:.1f}M tok/s", tokens_per_second / 1e6);
  if (tokens_per_second >= 1e3) return fmt::format("{:.1f}k tok/s", tokens_per_second / 1e3);
  return fmt::format("{:.0f} tok/s", tokens_per_second);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
}

std::string progress_line(const ProgressState& state, std::size_t width) {
  const std::string total = std::to_string(state.total);
  struct Part {
    std::string text;
    int use;  // the least useful is left out first
  };
  std::vector<Part> parts = {{"step ", 3}, {fmt::format("{:>{}}/{}", state.step, total.size(), total), 6}};
  parts.push_back({fmt::format(" | loss {:.3f}", state.loss), 5});
  if (state.validation_loss) parts.push_back({fmt::format(" | val {:.3f}", *state.validation_loss), 2});
  parts.push_back({" | " + speed_text(state.tokens_per_second), 1});
  if (state.step < state.total) parts.push_back({" | " + duration_text(state.seconds_left) + " left", 4});

  const auto length = [](std::size_t sum, const Part& part) { return sum + part.text.size(); };
  while (parts.size() > 1 && std::accumulate(parts.begin(), parts.end(), std::size_t{0}, length) > width) {
    parts.erase(std::ranges::min_element(parts, {}, &Part::use));
  }
  std::string line;
  for (const Part& part : parts) line += part.text;
  return line.substr(0, width);
}

std::optional<std::size_t> terminal_columns(std::FILE* terminal) {
  const char* wanted = std::getenv("COLUMNS");
  const long columns = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
  if (columns > 0) return static_cast<std::size_t>(columns);
  winsize size{};
  if (::ioctl(::fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  if (options_.first_step < 0 || options_.total <= options_.first_step) {
    fail<ValueError>("Progress", "no steps to show",
                     fmt::format("first_step is {} and total is {}", options_.first_step, options_.total),
                     "0 <= first_step < total");
  }
  if (!options_.clock) options_.clock = steady_seconds;
  if (options_.output == nullptr) options_.live = false;
  if (!options_.live) options_.live = ::isatty(::fileno(options_.output)) == 1;
  state_.step = options_.first_step;
  state_.total = options_.total;
  last_step_time_ = last_shown_ = options_.clock();
}

Progress::~Progress() { end_line(); }

void Progress::step(double loss, std::int64_t tokens) {
  const double now = options_.clock();
  const double seconds = std::max(now - std::exchange(last_step_time_, now), 1e-9);
  const bool first = seconds_per_step_ == 0;
  seconds_per_step_ = first ? seconds : seconds_per_step_ + smoothing * (seconds - seconds_per_step_);
  ++state_.step;
  state_.loss = loss;
  state_.tokens_per_second = static_cast<double>(tokens) / seconds_per_step_;
  state_.seconds_left = seconds_per_step_ * static_cast<double>(state_.total - state_.step);

  const bool last = state_.step == state_.total;
  const double since = now - last_shown_;
  if (*options_.live) {
    if (first || last || since >= options_.live_interval) show_live();
    return;
  }
  const auto twentieth = [this](std::int64_t step) { return step * plain_lines / state_.total; };
  const bool due = twentieth(state_.step) != twentieth(state_.step - 1) || since >= options_.plain_interval;
  if (first || last || due) show_plain();
}

void Progress::validation(double loss) {
  state_.validation_loss = loss;
  if (*options_.live) {
    show_live();
  } else {
    show_plain();
  }
}

void Progress::pause() { paused_at_ = options_.clock(); }

void Progress::resume() { last_step_time_ += options_.clock() - paused_at_; }

void Progress::end_line() {
  if (!line_open_) return;
  show("\n");
  line_open_ = false;
}

// What standard error does not take is lost: a run does not end for want of a place to show itself.
void Progress::show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), options_.output);
  std::fflush(options_.output);
}

void Progress::show_live() {
  // Return to the start of the line, write, and erase the rest of the former line. The last column stays
  // free: with a cursor behind it, terminals differ in what they erase.
  const std::size_t width = terminal_columns(options_.output).value_or(SIZE_MAX) - 1;
  show(fmt::format("\r{}\x1b[K", progress_line(state_, width)));
  line_open_ = true;
  last_shown_ = options_.clock();
}

void Progress::show_plain() {
  if (options_.output == nullptr) return;
  show(fmt::format("{}\n", progress_line(state_)));
  last_shown_ = options_.clock();
}

}  // namespace heed::train::report
