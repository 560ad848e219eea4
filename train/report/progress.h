#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace heed::train::report {

/// The content of a progress line.
struct ProgressState {
  std::int64_t step = 0;  // steps done
  std::int64_t total = 0;
  double loss = 0;
  std::optional<double> validation_loss = std::nullopt;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

/// `step  300/2000 | loss 1.912 | val 2.013 | 12.8k tok/s | 1m 41s left`, in at most `width` characters.
/// Where that is too little, parts are left out in this order: the speed, the validation loss, the word
/// `step`, the time left, the loss; in the end the line is cut.
std::string progress_line(const ProgressState& state, std::size_t width = SIZE_MAX);

/// The columns of a terminal: COLUMNS of the environment if it is a positive number, or else what the
/// terminal says. nullopt where neither is known.
std::optional<std::size_t> terminal_columns(std::FILE* terminal);

/// `9s`, `1m 41s`, `2h 05m`.
std::string duration_text(double seconds);

struct ProgressOptions {
  std::int64_t total = 0;                   // steps of the whole run
  std::int64_t first_step = 0;              // steps done before, by an earlier run
  std::FILE* output = stderr;               // null: shows nothing
  double live_interval = 0.1;               // seconds between redraws of the live line
  double plain_interval = 30;               // seconds between plain lines, besides the twenty of every run
  std::optional<bool> live = std::nullopt;  // unset: live when output is a terminal
  std::function<double()> clock = nullptr;  // seconds; unset: the steady clock
};

/// Shows the progress of a run. On a terminal it is one line that is redrawn, and no wider;
/// elsewhere, a plain line after each twentieth of the run, every plain_interval seconds, at each
/// validation, and at the last step. The speed is smoothed over about ten steps and leaves out the
/// time between pause() and resume().
/// Throws    ValueError when first_step is negative or total is not above it.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Reports a finished step: its loss and the number of its tokens.
  void step(double loss, std::int64_t tokens);

  /// Reports a validation loss, which is shown from now on.
  void validation(double loss);

  /// Call them around work that is not a training step, such as evaluation.
  void pause();
  void resume();

  /// Ends the live line, so that other text can follow. The next step starts a new one.
  void end_line();

  const ProgressState& state() const { return state_; }

 private:
  void show(std::string_view text);
  void show_live();
  void show_plain();

  ProgressOptions options_;
  ProgressState state_;
  double seconds_per_step_ = 0;
  double last_step_time_ = 0;
  double paused_at_ = 0;
  double last_shown_ = 0;
  bool line_open_ = false;
};

}  // namespace heed::train::report
