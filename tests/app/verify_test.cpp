#include <set>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "program.h"

using Catch::Contains;

namespace {

// The hashes of the nine runs, each once.
std::set<std::string> hashes(const std::string& out) {
  std::set<std::string> found;
  std::istringstream lines(out);
  int runs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" threads, ") == std::string::npos) continue;
    ++runs;
    found.insert(line.substr(line.size() - 16));
  }
  CHECK(runs == 9);
  return found;
}

}  // namespace

TEST_CASE("verify finds a run equal under every number of threads, and resumed") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string tiny = "verify --data '" + (folder / "text.txt") +
                           "' --layers 1 --heads 2 --embd 16 --context 16 --batch 4 --steps 6 --accumulate 2"
                           " --ema 0.9 --spike-factor 10";
  const Outcome one = run_heed(folder, tiny);
  CAPTURE(one.out, one.err);
  CHECK(one.status == 0);
  CHECK_THAT(one.out, Contains("4 threads, resumed") && Catch::EndsWith("equal\n"));
  CHECK(hashes(one.out).size() == 1);
  // The hash is of this run: another seed has another, and what writes no bits changes nothing.
  const Outcome other = run_heed(folder, tiny + " --seed 2");
  CHECK(hashes(other.out) != hashes(one.out));
  // A file of settings may say how train watches and keeps a run.
  put(folder / "settings.json", R"({"seed": 2, "checkpoint_every": 1, "eval_every": 1, "patience": 1})");
  const Outcome from_file = run_heed(folder, tiny + " --config '" + (folder / "settings.json") + "'");
  CHECK(hashes(from_file.out) == hashes(other.out));
}

TEST_CASE("verify takes, and shows, the flags that change the steps of a run, and no others") {
  const Folder folder;
  const std::string help = run_heed(folder, "verify --help").out;
  for (const char* flag : {"--data", "--layers", "--batch", "--seed", "--config"}) {
    CHECK_THAT(help, Contains(flag));
  }
  for (const char* flag : {"--out", "--resume", "--check", "--json", "--threads", "--eval-every",
                           "--checkpoint-every", "--keep", "--patience", "--preset"}) {
    CAPTURE(flag);
    CHECK_THAT(help, !Contains(flag));
    const Outcome outcome = run_heed(folder, std::string("verify ") + flag + " 1");
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains(std::string("verify ") + flag + ": there is no such flag"));
  }
}
