#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

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
