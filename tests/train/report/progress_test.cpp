#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/report/progress.h>

using namespace heed::train::report;

namespace {

// A run of the given length whose every step takes `seconds`, written to a temporary file and read back.
struct Run {
  double now = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};

  ProgressOptions options(std::int64_t total) {
    ProgressOptions result;
    result.total = total;
    result.output = file.get();
    result.clock = [this] { return now; };
    return result;
  }
  std::string text() const {
    std::string text;
    std::rewind(file.get());
    for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get()))
      text.push_back(static_cast<char>(c));
    return text;
  }
};

// A variable of the environment, put back in the end.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) before_ = value;
  }
  ~Variable() { before_ ? set(before_->c_str()) : unset(); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  void set(const char* value) const { ::setenv(name_, value, 1); }
  void unset() const { ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_ = std::nullopt;
};

}  // namespace

TEST_CASE("a progress line tells step, losses, speed and time left") {
  ProgressState state{
      .step = 300, .total = 2000, .loss = 1.9123, .tokens_per_second = 12843, .seconds_left = 101.2};
  CHECK(progress_line(state) == "step  300/2000 | loss 1.912 | 12.8k tok/s | 1m 41s left");
  state.validation_loss = 2.0129;
  state.tokens_per_second = 87.6;
  CHECK(progress_line(state) == "step  300/2000 | loss 1.912 | val 2.013 | 88 tok/s | 1m 41s left");
  state.step = 2000;
  state.tokens_per_second = 2.04e6;
  CHECK(progress_line(state) == "step 2000/2000 | loss 1.912 | val 2.013 | 2.0M tok/s");
}

TEST_CASE("a progress line leaves out what a narrow terminal has no room for") {
  const ProgressState state{.step = 300,
                            .total = 2000,
                            .loss = 1.9123,
                            .validation_loss = 2.0129,
                            .tokens_per_second = 12843,
                            .seconds_left = 101.2};
  const std::string whole = "step  300/2000 | loss 1.912 | val 2.013 | 12.8k tok/s | 1m 41s left";
  CHECK(progress_line(state, whole.size()) == whole);
  CHECK(progress_line(state, whole.size() - 1) == "step  300/2000 | loss 1.912 | val 2.013 | 1m 41s left");
  CHECK(progress_line(state, 52) == "step  300/2000 | loss 1.912 | 1m 41s left");
  CHECK(progress_line(state, 39) == " 300/2000 | loss 1.912 | 1m 41s left");
  CHECK(progress_line(state, 35) == " 300/2000 | loss 1.912");
  CHECK(progress_line(state, 20) == " 300/2000");
  CHECK(progress_line(state, 4) == " 300");
  CHECK(progress_line(state, 0).empty());
}

TEST_CASE("durations are short") {
  CHECK(duration_text(-1) == "0s");
  CHECK(duration_text(59.4) == "59s");
  CHECK(duration_text(59.6) == "1m 00s");
  CHECK(duration_text(3599.6) == "1h 00m");
  CHECK(duration_text(7530) == "2h 05m");
}

TEST_CASE("away from a terminal there are plain lines, about twenty") {
  Run run;
  Progress progress(run.options(1000));
  for (int i = 0; i < 1000; ++i) {
    run.now += 0.01;
    progress.step(2.0, 768);
  }
  const std::string text = run.text();
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 21);  // the first step and each twentieth
  CHECK(text.find("step    1/1000 | loss 2.000 | 76.8k tok/s | 10s left\n") == 0);
  CHECK(text.find("step  500/1000 | loss 2.000 | 76.8k tok/s | 5s left\n") != std::string::npos);
  CHECK(text.find("step 1000/1000 | loss 2.000 | 76.8k tok/s\n") != std::string::npos);
}

TEST_CASE("a slow run writes a plain line each half minute") {
  Run run;
  Progress progress(run.options(100000));
  for (int i = 0; i < 12; ++i) {
    run.now += 10;
    progress.step(2.0, 1);
  }
  const std::string text = run.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);  // steps 1, 4, 7, 10
}

TEST_CASE("on a terminal one line is drawn over, ten times a second") {
  Run run;
  auto options = run.options(100);
  options.live = true;
  {
    Progress progress(options);
    for (int i = 0; i < 100; ++i) {
      run.now += 0.0625;
      progress.step(2.0, 64);
    }
  }
  const std::string text = run.text();
  CHECK(std::count(text.begin(), text.end(), '\r') == 51);  // the first, each second one, the last
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find("\rstep   1/100 | loss 2.000 | 1.0k tok/s | 6s left\x1b[K\r") == 0);
  CHECK(text.substr(text.size() - 4) == "\x1b[K\n");
}

TEST_CASE("COLUMNS is the width of the terminal if it is a number") {
  const Variable columns("COLUMNS");
  const Run run;
  columns.set("40");
  CHECK(terminal_columns(run.file.get()) == 40);
  for (const char* wrong : {"", "0", "-1", "wide"}) {
    columns.set(wrong);
    CHECK(terminal_columns(run.file.get()) == std::nullopt);  // a file has no columns
  }
}

TEST_CASE("in 40 columns no line wraps") {
  const Variable columns("COLUMNS");
  columns.set("40");
  Run run;
  auto options = run.options(100000);
  options.live = true;
  {
    Progress progress(options);
    progress.validation(2.5);
    for (int i = 0; i < 300; ++i) {
      run.now += 1.5;
      progress.step(1234.5, 123456);
    }
  }
  std::istringstream lines(run.text());
  int count = 0;
  for (std::string line; std::getline(lines, line, '\r'); ++count) {
    const std::string shown = line.substr(0, line.find('\x1b'));
    CAPTURE(shown);
    CHECK(shown.size() <= 39);
    CHECK((count == 0 || shown.find("/100000") != std::string::npos));
  }
  CHECK(count == 302);  // what is before the first, the validation, the steps
}

// Not where there are no pseudo-terminals, as in a bare root.
TEST_CASE("the width of a terminal is asked at each line") {
  const Variable columns("COLUMNS");
  columns.unset();
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    WARN("there is no pseudo-terminal");
    return;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{std::fopen(::ptsname(terminal), "w"),
                                                               std::fclose};
  REQUIRE(output != nullptr);
  const auto line_in = [&](unsigned short width) {
    const winsize size{.ws_row = 24, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
    Progress({.total = 2000, .output = output.get(), .clock = [] { return 0.0; }}).step(1.912, 1);
    std::string text;
    while (text.find('\n') == std::string::npos) {  // a terminal may pass on a line in pieces
      char part[256];
      const auto length = ::read(terminal, part, sizeof part);
      REQUIRE(length > 0);
      text.append(part, static_cast<std::size_t>(length));
    }
    return text;
  };
  CHECK(line_in(100).find("\rstep    1/2000 | loss 1.912 | 1000.0M tok/s") != std::string::npos);
  CHECK(line_in(20).find("\r   1/2000\x1b[K") != std::string::npos);
  CHECK(line_in(0).find("1000.0M tok/s") != std::string::npos);  // not known
  ::close(terminal);
}

TEST_CASE("evaluation is shown and does not count as training time") {
  Run run;
  Progress progress(run.options(10));
  run.now += 1;
  progress.step(3.0, 100);
  progress.pause();
  run.now += 500;
  progress.validation(2.5);
  progress.resume();
  run.now += 1;
  progress.step(2.9, 100);
  CHECK(progress.state().tokens_per_second == 100);  // one second a step
  CHECK(progress.state().seconds_left == 8);
  CHECK(run.text().find("step  1/10 | loss 3.000 | val 2.500 | 100 tok/s | 9s left\n") != std::string::npos);
}

TEST_CASE("a run without steps is refused") {
  CHECK_THROWS_WITH(
      Progress(ProgressOptions{}),
      "Progress: no steps to show, first_step is 0 and total is 0; expected 0 <= first_step < total");
  ProgressOptions done;
  done.total = done.first_step = 5;
  CHECK_THROWS_AS(Progress(done), heed::ValueError);
}
