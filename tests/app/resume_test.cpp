#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "program.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

const std::string recipe_options =
    " --layers 1 --heads 2 --embd 16 --context 16 --batch 4 --steps 160 --warmup 5 --dropout 0.1 "
    "--accumulate 2"
    " --ema 0.9 --spike-factor 10 --patience 100 --eval-every 40 --checkpoint-every 7";

std::string recipe(const Folder& folder, const std::string& run, int threads) {
  return "train --data '" + (folder / "text.txt") + "' --out '" + (folder / run) + "' --threads " +
         std::to_string(threads) + recipe_options;
}

// Arguments with other values for some of their flags.
std::string with(std::string arguments, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [flag, value] : values) {
    const auto at = arguments.find(flag + " ");
    REQUIRE(at != std::string::npos);
    const auto begin = at + flag.size() + 1;
    const auto end = std::min(arguments.find(' ', begin), arguments.size());
    arguments.replace(begin, end - begin, value);
  }
  return arguments;
}

// Starts heed in the background and gives it `signal` after a while. Its status as waitpid says.
int run_and_signal(const Folder& folder, const std::string& arguments, std::chrono::milliseconds wait,
                   int signal) {
  const std::string command =
      "exec '" + std::string(HEED_BIN_DIR) + "/heed' " + arguments + " >'" + (folder / "stdout") + "' 2>&1";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(wait);
  ::kill(child, signal);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

bool finished(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

int moments() { return std::getenv("HEED_LONG_TESTS") != nullptr ? 20 : 3; }

}  // namespace

TEST_CASE("killed at random moments and resumed, a run ends with the same bits", "[report-42]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  REQUIRE(run_heed(folder, recipe(folder, "whole", 1)).status == 0);
  const std::string expected = contents(folder / "whole/model.safetensors");
  std::mt19937 random(1);
  for (const int threads : {1, 2}) {
    for (int moment = 0; moment < moments(); ++moment) {
      CAPTURE(threads, moment);
      fs::remove_all(folder / "run");
      const auto milliseconds = [&](unsigned most) {
        return std::chrono::milliseconds(20 + random() % most);
      };
      int status = run_and_signal(folder, recipe(folder, "run", threads), milliseconds(400), SIGKILL);
      // Killed once more on the way; then left to end.
      const std::string resume = "train --resume --out '" + (folder / "run") + "'";
      const std::string again = fs::exists(folder / "run/run.json") ? resume : recipe(folder, "run", threads);
      if (!finished(status)) status = run_and_signal(folder, again, milliseconds(400), SIGKILL);
      const std::string last = fs::exists(folder / "run/run.json") ? resume : recipe(folder, "run", threads);
      if (!finished(status)) {
        const Outcome outcome = run_heed(folder, last);
        CAPTURE(outcome.err);
        REQUIRE(outcome.status == 0);
        CHECK_THAT(outcome.err, !Contains("passed over"));  // a kill leaves no torn checkpoint
      }
      CHECK(contents(folder / "run/model.safetensors") == expected);
      const std::string log = contents(folder / "run/log.jsonl");
      CHECK(std::count(log.begin(), log.end(), '\n') == 165);  // the header, each step and evaluation once
    }
  }
}

TEST_CASE("a signal saves and says where") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string endless =
      with(recipe(folder, "run", 1),
           {{"--steps", "100000000"}, {"--checkpoint-every", "0"}, {"--eval-every", "0"}});
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(folder / "run");
    const int status = run_and_signal(folder, endless, std::chrono::milliseconds(500), signal);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + signal);
    const std::string out = contents(folder / "stdout");
    CHECK_THAT(out, Contains("stopped") && Contains((folder / "run/checkpoints/step-")));
    CHECK_THAT(out, Catch::EndsWith("; to go on: heed train --resume --out " + (folder / "run") + "\n"));
    const auto at = out.find("after step ");
    REQUIRE(at != std::string::npos);
    const std::string step = std::to_string(std::stol(out.substr(at + 11)));
    const Outcome resumed = run_heed(folder, "train --resume --out '" + (folder / "run") + "' --steps " +
                                                 std::to_string(std::stol(step) + 2));
    CHECK(resumed.status == 0);
    CHECK_THAT(resumed.out, Contains("resume    from step " + step));
  }
}

TEST_CASE("what cannot be resumed is refused, a broken checkpoint passed over") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = recipe(folder, "run", 1);
  const std::string resume = "train --resume --out '" + (folder / "run") + "'";
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    CAPTURE(arguments);
    const Outcome outcome = run_heed(folder, arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains(part));
  };
  refused("train --resume", "--resume without --out");
  refused(resume, "run.json");
  refused(resume + " --config x.json", "--resume with --config");
  REQUIRE(run_heed(folder, run).status == 0);
  refused(run, "holds the checkpoints of a run");
  refused(resume + " --heads 4", "heads was 2 and is 4");
  refused(resume + " --style llama", R"(rope.layout was absent and is "half")");
  refused(resume + " --style llama", R"(norm was "layer" and is "rms")");
  refused(resume + " --seed 2 --optimizer sgd",
          "optimizer was \"adamw\" and is \"sgd\", seed was 1 and is 2");
  put(folder / "text.txt", sample_text() + "tea\n");
  refused(resume, "text_checksum was");
  put(folder / "text.txt", sample_text());

  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints")) {
    if (entry.path().extension() == ".safetensors") kept.push_back(entry.path());
  }
  std::sort(kept.begin(), kept.end());
  REQUIRE(kept.size() >= 2);
  const std::string model = contents(folder / "run/model.safetensors");
  fs::resize_file(kept.back(), fs::file_size(kept.back()) / 2);
  const Outcome passed = run_heed(folder, resume);
  CHECK(passed.status == 0);
  CHECK_THAT(passed.err, Contains("passed over") && Contains(kept.back().filename().string()));
  CHECK(contents(folder / "run/model.safetensors") == model);
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints"))
    fs::resize_file(entry.path(), 0);
  refused(resume, "no whole checkpoint");
}

TEST_CASE("a run goes to its end on a full disk, and says what it could not keep", "[report-42][fault-35]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = with(recipe(folder, "run", 1), {{"--checkpoint-every", "80"}});
  // Files may grow to 8 blocks of 512 bytes: no checkpoint fits, nor does the log.
  const Outcome full = run_heed(folder, run, "trap '' XFSZ; ulimit -f 8; ");
  CHECK(full.status == 1);
  CHECK_THAT(full.err, Contains("step 80 has no checkpoint") && Contains("File too large") &&
                           Contains("the end of the log could not be written") && Contains("begins anew"));
  const Outcome resumed = run_heed(folder, "train --resume --out '" + (folder / "run") + "'");
  CHECK(resumed.status == 0);
}

TEST_CASE("settings come from a file, flags win, and the run keeps all of them") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  put(folder / "config.json",
      R"({"data": [")" + (folder / "text.txt") + R"("], "layers": 1, "heads": 2, "embd": 8,
      "context": 8, "batch": 2, "steps": 4, "warmup": 1, "decay": 2, "lr": 0.01, "min_lr": 0, "bias": true,
      "optimizer": "sgd", "schedule": "warmup-stable-decay", "eval_every": 1, "patience": 3})");
  const std::string config =
      "train --config '" + (folder / "config.json") + "' --out '" + (folder / "run") + "'";
  REQUIRE(run_heed(folder, config + " --steps 5 --lr 0.5").status == 0);
  const auto saved = nlohmann::json::parse(contents(folder / "run/run.json"));
  CHECK(saved["steps"] == 5);
  CHECK(saved["lr"] == 0.5);
  CHECK(saved["optimizer"] == "sgd");
  CHECK(saved["bias"] == true);
  CHECK(saved["momentum"] == 0.9);
  CHECK(saved.size() == 33);
  // The saved file is a config that makes the same run.
  const std::string model = contents(folder / "run/model.safetensors");
  REQUIRE(run_heed(folder,
                   "train --config '" + (folder / "run/run.json") + "' --out '" + (folder / "again") + "'")
              .status == 0);
  CHECK(contents(folder / "again/model.safetensors") == model);
  CHECK(contents(folder / "again/run.json") == contents(folder / "run/run.json"));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"stepz": 5})", "unknown key 'stepz'"},
      {R"({"steps": 5.5})", "bad value of steps: 5.5"},
      {R"({"steps": 18446744073709551615})", "steps"},
      {R"({"lr": "fast"})", "bad value of lr"},
      {R"({"threads": 5000000000})", "threads"},
      {R"({"bias": 1})", "bias"},
      {R"({"optimizer": "x"})", "--optimizer"},
      {R"({"steps": 5, "steps": 6})", "'steps' twice"},
      {"[]", "no JSON object"},
      {"{", "not JSON"},
      {R"({"schedule": ["cosine"]})", "bad value of schedule"}};
  for (const auto& [text, part] : bad) {
    CAPTURE(text);
    put(folder / "config.json", text);
    const Outcome outcome = run_heed(folder, config);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains(part));
  }
}

TEST_CASE("the settings that a run keeps are those that change it", "[fault-49]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = folder / "run";
  const auto train = [&](const std::string& flags) {
    CAPTURE(flags);
    fs::remove_all(run);
    const Outcome outcome = run_heed(
        folder, "train --data '" + (folder / "text.txt") + "' --out '" + run +
                    "' --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 8 --eval-every 0" + flags);
    CAPTURE(outcome.err);
    REQUIRE(outcome.status == 0);
    return contents(run + "/model.safetensors");
  };
  // Each value differs from the default. Those that are kept matter one by one, the others not even together.
  const auto check = [&](const std::string& kind,
                         const std::vector<std::pair<std::string, std::string>>& others) {
    CAPTURE(kind);
    const std::string given = kind + " --lr 0.01 --warmup 2 --decay 4";
    const std::string plain = train(given);
    const auto kept = nlohmann::json::parse(contents(run + "/run.json"));
    std::string idle = given;
    for (const auto& [key, value] : others) {
      std::string flag = "--" + key;
      std::replace(flag.begin() + 2, flag.end(), '_', '-');
      const auto changed = [&, value = value](const std::string& flags) {
        const bool there = flags.find(flag + " ") != std::string::npos;
        return there ? with(flags, {{flag, value}}) : flags + " " + flag + " " + value;
      };
      CAPTURE(flag);
      if (kept.contains(key)) {
        CHECK((train(changed(given)) != plain));
      } else {
        idle = changed(idle);
      }
    }
    CHECK((train(idle) == plain));
  };
  for (const char* optimizer : {"adamw", "adam", "nadam", "radam", "sgd", "rmsprop", "adagrad", "adadelta"}) {
    check(std::string(" --optimizer ") + optimizer, {{"beta1", "0.5"},
                                                     {"beta2", "0.5"},
                                                     {"momentum", "0.5"},
                                                     {"vocab_size", "300"},
                                                     {"source", "induction"}});
  }
  for (const char* schedule : {"cosine", "warmup-stable-decay", "constant", "linear", "exponential", "step",
                               "multi-step", "cosine-annealing", "cosine-restarts", "one-cycle"}) {
    check(std::string(" --schedule ") + schedule, {{"warmup", "1"}, {"decay", "3"}, {"min_lr", "0.005"}});
  }
  // What is left out of run.json has its default when the run goes on: that must be no error.
  train(" --schedule constant --lr 1e-5 --min-lr 0 --checkpoint-every 4");
  CHECK(run_heed(folder, "train --resume --out '" + run + "'").status == 0);
}

TEST_CASE("a run stops early where the loss no longer falls") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  // With a rate this small no weight changes: the second look is no better than the first.
  const Outcome outcome = run_heed(
      folder, with(recipe(folder, "run", 1), {{"--patience", "2"}, {"--eval-every", "5"}, {"--ema", "0"}}) +
                  " --lr 1e-30 --min-lr 0");
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, Contains("stopped   after step 15: no better loss in 2 looks"));
}
