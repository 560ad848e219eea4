// Lines leave when they are written, whatever stdout is: a pipe that nobody sees as a terminal, a run that is
// ended by force, a disk that is full.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "examples.h"
#include "program.h"

using Catch::Contains;

namespace {

bool comes(const std::string& path, const std::string& text) {
  for (int tries = 0; tries < 4000; ++tries) {
    if (contents(path).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// Runs heed with its standard output somewhere else.
Outcome run_into(const Folder& folder, const std::string& sink, const std::string& arguments) {
  return run_heed(folder, arguments, "run() { \"$@\" >" + sink + "; }; run ");
}

}  // namespace

TEST_CASE("every command notices that its output is lost", "[fault-35]") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("skipped: there is no /dev/full");
    return;
  }
  const Folder folder;
  const auto arguments = examples(folder);
  std::vector<std::string> calls = {"--help", "--version"};
  for (const std::string& command : command_names(folder)) {
    CAPTURE(command);
    REQUIRE(arguments.count(command) == 1);
    calls.push_back(command + " --help");
    calls.push_back(command + arguments.at(command));
  }
  REQUIRE(calls.size() == 2 + 2 * arguments.size());
  for (const std::string& call : calls) {
    CAPTURE(call);
    const Outcome full = run_into(folder, "/dev/full", call);
    CHECK(full.status == 1);
    CHECK_THAT(full.err,
               Catch::EndsWith("heed: standard output cannot be written: No space left on device\n"));
  }
  for (const std::string& call : calls) {
    CAPTURE(call);
    // The reason why an example could not fail otherwise: with room it succeeds.
    for (const char* made : {"trained", "tokens", "imported", "exported"})
      std::filesystem::remove_all(folder / made);
    CHECK(run_heed(folder, call).status == 0);
  }
}

TEST_CASE("a closed standard output is no file of the run's, and lost", "[fault-35]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const Outcome closed =
      run_into(folder, "&-",
               "train --data '" + (folder / "text.txt") + "' --out '" + (folder / "run") + "'" + tiny_run);
  CHECK(closed.status == 1);
  CHECK(closed.err == "heed: standard output cannot be written: Bad file descriptor\n");
}

TEST_CASE("a run does not end for a standard error that takes nothing", "[fault-35]") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("skipped: there is no /dev/full");
    return;
  }
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string train = "train --data '" + (folder / "text.txt") + "' --out '" + (folder / "run") + "'";
  const Outcome full = run_into(folder, "'" + (folder / "said") + "' 2>/dev/full", train + tiny_run);
  CHECK(full.status == 0);
  CHECK(std::filesystem::exists(folder / "run/model.safetensors"));
  CHECK(run_into(folder, "/dev/null 2>/dev/full", "tarin").status == 2);
}

TEST_CASE("what a run has said is in the pipe before it is ended", "[fault-43]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string run = folder / "run";
  REQUIRE(run_heed(folder, "train --data '" + (folder / "text.txt") + "' --out '" + run +
                               "' --layers 1 --heads 2 --embd 8 --context 8 --batch 2 --steps 3 --warmup 1"
                               " --checkpoint-every 3")
              .status == 0);
  const int signal = GENERATE(SIGKILL, SIGTERM);
  const std::string job = "sh -c 'echo $$ >\"$0\"; exec \"$@\"' '" + (folder / "number") + "' '" +
                          HEED_BIN_DIR + "/heed' train --resume --out '" + run +
                          "' --steps 100000000 --eval-every 0 </dev/null 2>/dev/null | cat >'" +
                          (folder / "said") + "'";
  int status = -1;
  std::thread runner([&] { status = std::system(job.c_str()); });
  const bool told = comes(folder / "said", "resume    from step 3\n");
  const int number = std::stoi(contents(folder / "number"));
  ::kill(number, signal);
  runner.join();
  CHECK(status == 0);
  CHECK(told);
  CHECK_THAT(contents(folder / "said"), Contains("recipe    "));
  CHECK((contents(folder / "said").find("stopped   after step ") != std::string::npos) ==
        (signal == SIGTERM));
}
