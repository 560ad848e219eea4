// Whole jobs: mpirun -n N heed train, and what goes wrong with one of its ranks.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../../support/resident.h"
#include "../program.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

const std::string tiny_options = " --layers 1 --heads 2 --embd 16 --context 16 --warmup 1";
const std::string heed_program = "'" HEED_BIN_DIR "/heed' ";

// 30 seconds are what a job may take to end, whatever happens.
std::string mpirun(int ranks) { return "timeout -k 1 30 " HEED_MPIRUN " -n " + std::to_string(ranks) + " "; }

std::string train_on(const std::string& data, const Folder& folder, const std::string& run,
                     const std::string& rest) {
  return "train " + data + " --out '" + (folder / run) + "'" + tiny_options + rest;
}

std::string train(const Folder& folder, const std::string& run, const std::string& rest) {
  return train_on("--data '" + (folder / "text.txt") + "'", folder, run, rest);
}

Outcome ranks(int count, const Folder& folder, const std::string& arguments) {
  return run_heed(folder, arguments, mpirun(count));
}

// Losses of steps and looks, in the order of the log.
std::vector<double> losses(const std::string& run) {
  std::vector<double> values;
  std::istringstream log(contents(run + "/log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("loss")) values.push_back(record["loss"]);
    if (record.contains("val_loss")) values.push_back(record["val_loss"]);
  }
  return values;
}

// The same rows in other sums: float32 rounds to 6e-8, and a few dozen steps carry it on. 5e-7
// is the house's.
void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i, a[i], b[i]);
    CHECK(std::abs(a[i] - b[i]) <= 5e-7 * b[i]);
  }
}

std::vector<std::string> files(const std::string& run) {
  std::vector<std::string> names;
  for (const auto& file : fs::recursive_directory_iterator(run)) {
    names.push_back(fs::relative(file.path(), run).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool no_litter(const std::string& run) {
  for (const std::string& name : files(run)) {
    if (name.find("tmp") != std::string::npos) return false;
  }
  return true;
}

// A job of two ranks, which run in the folders `homes` and train on the `data` of these flags; the second
// leaves its number in a file. Once there is a checkpoint, `strike` is called with the numbers of mpirun and
// of that rank.
template <class Strike>
Outcome struck(const Folder& folder, const std::string& data, const std::array<std::string, 2>& homes,
               Strike&& strike) {
  const std::string arguments =
      train_on(data, folder, "run", " --steps 10000000 --eval-every 0 --checkpoint-every 3");
  const std::string job = "echo $$ >'" + (folder / "mpirun") + "'; exec " HEED_MPIRUN " -wdir '" + homes[0] +
                          "' -n 1 " + heed_program + arguments + " : -wdir '" + homes[1] +
                          "' -n 1 sh -c 'echo $$ >\"$0\"; exec \"$@\"' '" + (folder / "second") + "' " +
                          heed_program + arguments;
  Outcome outcome{};
  std::thread runner([&] {
    const std::string command = "timeout -k 1 30 sh -c '" +
                                [&] {
                                  std::string quoted;
                                  for (const char c : job) quoted += c == '\'' ? "'\\''" : std::string(1, c);
                                  return quoted;
                                }() +
                                "' >'" + (folder / "stdout") + "' 2>'" + (folder / "stderr") + "'";
    const int status = std::system(command.c_str());
    outcome = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {}, {}};
  });
  for (int i = 0; i < 4000 && !fs::exists(folder / "run/checkpoints/step-00000003.json"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  strike(std::stoi(contents(folder / "mpirun")), std::stoi(contents(folder / "second")));
  runner.join();
  outcome.out = contents(folder / "stdout");
  outcome.err = contents(folder / "stderr");
  return outcome;
}

template <class Strike>
Outcome struck(const Folder& folder, Strike&& strike) {
  put(folder / "text.txt", sample_text());
  return struck(folder, "--data text.txt", {folder.path.string(), folder.path.string()},
                std::forward<Strike>(strike));
}

// Processes that were told of the folder and are there still, half a minute after the job at the latest.
int orphans(const Folder& folder) {
  for (int tries = 0;; ++tries) {
    int count = 0;
    std::error_code gone;
    for (const auto& process : fs::directory_iterator("/proc")) {
      const std::string told = contents(process.path() / "cmdline");
      if (told.find("heed") != std::string::npos && told.find(folder.path.string()) != std::string::npos)
        ++count;
    }
    if (count == 0 || tries == 300) return count;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// What a job left is whole and can be taken up by one process.
void check_resumes(const Folder& folder, const std::string& home) {
  CHECK(orphans(folder) == 0);
  CHECK(no_litter(folder / "run"));
  CHECK_FALSE(losses(folder / "run").empty());
  const Outcome resumed =
      run_heed(folder, "train --resume --out '" + (folder / "run") + "' --steps 1", "cd '" + home + "'; ");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.out, Contains("resume    from step "));
  CHECK_THAT(resumed.err, !Contains("passed over"));
}

}  // namespace

TEST_CASE("ranks together leave what one process leaves, and rank 0 alone speaks", "[report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string rest =
      " --batch 7 --accumulate 2 --steps 20 --eval-every 10 --checkpoint-every 10 --ema 0.9";
  const Outcome one = run_heed(folder, train(folder, "one", rest));
  REQUIRE(one.status == 0);
  for (const int count : {2, 3}) {
    const std::string run = std::to_string(count);
    const Outcome several = ranks(count, folder, train(folder, run, rest));
    CHECK(several.status == 0);
    CHECK(std::count(several.out.begin(), several.out.end(), '\n') ==
          std::count(one.out.begin(), one.out.end(), '\n'));
    CHECK_THAT(several.out, Contains(run + " ranks of "));
    CHECK(files(folder / run) == files(folder / "one"));
    check_close(losses(folder / run), losses(folder / "one"));
  }
  REQUIRE(ranks(2, folder, train(folder, "again", rest)).status == 0);
  CHECK(contents(folder / "again/model.safetensors") == contents(folder / "2/model.safetensors"));
}

TEST_CASE("ranks share the cores unless they are told how many threads to take", "[report-49]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string arguments = train(folder, "run", " --steps 1 --eval-every 0");
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const auto says = [&](int count, int threads, const std::string& prefix, const std::string& rest) {
    const Outcome outcome = run_heed(folder, arguments + rest, prefix + mpirun(count));
    return outcome.out.find(std::to_string(count) + " ranks of " + std::to_string(threads) + " threads") !=
           std::string::npos;
  };
  for (const int count : {2, 3}) {
    CHECK(says(count, std::max(1, cores / count), "unset OMP_NUM_THREADS; ", ""));
  }
  CHECK(says(2, 3, "OMP_NUM_THREADS=3 ", ""));
  CHECK(says(2, 4, "unset OMP_NUM_THREADS; ", " --threads 4"));
}

TEST_CASE("any number of ranks goes on from a checkpoint", "[report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const auto rest = [](const std::string& steps) {
    return " --batch 6 --eval-every 0 --schedule constant --checkpoint-every 10 --steps " + steps;
  };
  REQUIRE(ranks(2, folder, train(folder, "whole", rest("20"))).status == 0);
  REQUIRE(ranks(2, folder, train(folder, "half", rest("10"))).status == 0);
  for (const int count : {1, 2, 3}) {
    const std::string run = "run" + std::to_string(count);
    fs::copy(folder / "half", folder / run, fs::copy_options::recursive);
    const Outcome resumed = ranks(count, folder, "train --resume --out '" + (folder / run) + "' --steps 20");
    CAPTURE(count, resumed.err);
    CHECK(resumed.status == 0);
    CHECK_THAT(resumed.out, Contains("resume    from step 10"));
    const auto all = losses(folder / run);
    REQUIRE(all.size() == 22);  // with a look after step 10 and one after step 20
    auto whole = losses(folder / "whole");
    whole.insert(whole.begin() + 10, all[10]);
    check_close(all, whole);
    CHECK((contents(folder / (run + "/model.safetensors")) == contents(folder / "whole/model.safetensors")) ==
          (count == 2));
  }
}

TEST_CASE("with dropout too a resumed job ends with the same bits", "[report-36]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string rest =
      " --batch 3 --eval-every 0 --dropout 0.2 --schedule constant --checkpoint-every 5 --steps ";
  REQUIRE(ranks(2, folder, train(folder, "whole", rest + "10")).status == 0);
  REQUIRE(ranks(2, folder, train(folder, "run", rest + "5")).status == 0);
  REQUIRE(ranks(2, folder, "train --resume --out '" + (folder / "run") + "' --steps 10").status == 0);
  CHECK(contents(folder / "run/model.safetensors") == contents(folder / "whole/model.safetensors"));
}

TEST_CASE("one rank that cannot open its file ends the job, with its number", "[report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string good = train(folder, "run", " --steps 1000000");
  const std::string bad =
      "train --data '" + (folder / "missing.txt") + "'" + tiny_options + " --steps 1000000";
  const Outcome outcome = ranks(1, folder, good + " : -n 1 " + heed_program + bad);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("heed: rank 1 of 2: ") && Contains("missing.txt' does not exist"));
  CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("what is wrong on all ranks is said once", "[report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const Outcome outcome = ranks(3, folder, train(folder, "run", " --lr -1"));
  CHECK(outcome.status == 2);
  const auto first = outcome.err.find("bad --lr");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.err.find("bad --lr", first + 1) == std::string::npos);
  const Outcome other =
      ranks(2, folder, "tokenize --data '" + (folder / "text.txt") + "' --out '" + (folder / "t") + "'");
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("train alone runs on several ranks"));
}

TEST_CASE("ranks with another text or other settings do not train one model", "[report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  put(folder / "other.txt", sample_text() + "more tea\n");
  const std::string other =
      "train --data '" + (folder / "other.txt") + "' --out '" + (folder / "run") + "'" + tiny_options;
  const Outcome outcome = ranks(1, folder, train(folder, "run", "") + " : -n 1 " + heed_program + other);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("the settings and the text of rank 1"));
}

TEST_CASE("an exception that leaves one rank ends the job", "[report-50]") {
  const Folder folder;
  const std::string err = folder / "err";
  const int status = std::system((mpirun(3) + HEED_BIN_DIR "/one_rank_throws 2>'" + err + "'").c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_THAT(contents(err), Contains("an exception ends rank 1 of 3"));
}

TEST_CASE("a killed rank ends the job and costs no checkpoint", "[report-42][report-50]") {
  const Folder folder;
  const Outcome outcome = struck(folder, [](int, int second) { ::kill(second, SIGKILL); });
  CHECK(outcome.status == 128 + SIGKILL);
  CHECK_THAT(outcome.err, Contains("exited on signal 9"));
  check_resumes(folder, folder.path.string());
}

TEST_CASE("a rank that finds no memory within a step ends the job, with its number",
          "[report-42][report-50]") {
  if (heed::test::sanitized) return;
  const Folder folder;
  put(folder / "text.txt", sample_text());
  REQUIRE(ranks(2, folder, train(folder, "run", " --steps 4 --checkpoint-every 2 --threads 1")).status == 0);
  // The second rank alone has a limit, in which it begins and takes steps; but not steps of 32768 windows,
  // which need about 1 GiB.
  const auto limited = [&](const std::string& rest) {
    const std::string job = heed_program + "train --resume --out '" + (folder / "run") + "'" + rest;
    const std::string arguments = job.substr(heed_program.size());
    return run_heed(folder, arguments + " : -n 1 sh -c 'ulimit -v 524288; exec \"$@\"' limited " + job,
                    "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 " + mpirun(1));
  };
  const Outcome fits = limited(" --steps 6");
  CAPTURE(fits.err);
  REQUIRE(fits.status == 0);
  const Outcome outcome = limited(" --steps 8 --batch 65536");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.out, Contains("resume    from step 6"));
  CHECK_THAT(outcome.err, Contains("heed: rank 1 of 2: not enough memory") && !Contains("rank 0 of 2"));
  check_resumes(folder, folder.path.string());
}

TEST_CASE("a rank whose own copy of the tokens is cut ends the job, with its number",
          "[report-42][report-50]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  REQUIRE(run_heed(folder, "tokenize --data '" + (folder / "text.txt") + "' --out '" + (folder / "one") + "'")
              .status == 0);
  fs::copy(folder / "one", folder / "two", fs::copy_options::recursive);
  const Outcome outcome =
      struck(folder, "--data tokens.bin --tokenizer tokenizer.json", {folder / "one", folder / "two"},
             [&](int, int) { fs::resize_file(folder / "two/tokens.bin", 0); });
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.err, Contains("heed: rank 1 of 2: a file became shorter while it was read"));
  check_resumes(folder, folder / "one");
}

TEST_CASE("a signal to one rank or to mpirun stops all after the same step", "[report-42][report-50]") {
  const bool to_one = GENERATE(true, false);
  const Folder folder;
  const int signal = to_one ? SIGTERM : SIGINT;
  const Outcome outcome = struck(folder, [&](int all, int second) { ::kill(to_one ? second : all, signal); });
  CHECK(outcome.status == (to_one ? 128 + SIGTERM : 1));  // 1: mpirun's own, when it is what was stopped
  CHECK_THAT(outcome.out, Contains("stopped   after step "));
  check_resumes(folder, folder.path.string());
}
