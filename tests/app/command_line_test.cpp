// What the program says of itself, and to words that it does not know.
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/version.h>

#include "examples.h"
#include "program.h"

using Catch::Contains;

namespace {

// One line on standard error, status 2.
void check_said(const Folder& folder, const std::string& arguments, const std::string& line) {
  CAPTURE(arguments);
  const Outcome outcome = run_heed(folder, arguments);
  CHECK(outcome.status == 2);
  CHECK(outcome.err == line + "\n");
}

}  // namespace

TEST_CASE("a misspelt command or flag gets the nearest right one, and whose help to see", "[fault-38]") {
  const Folder folder;
  check_said(folder, "tarin", "heed: tarin: there is no such command; did you mean train? (see heed --help)");
  check_said(folder, "generat x",
             "heed: generat: there is no such command; did you mean generate? (see heed --help)");
  check_said(folder, "bogus", "heed: bogus: there is no such command (see heed --help)");
  check_said(folder, "--versoin",
             "heed: --versoin: there is no such flag; did you mean --version? (see heed --help)");
  check_said(folder, "train --layer 3",
             "heed: train --layer: there is no such flag; did you mean --layers? (see heed train --help)");
  check_said(folder, "train --layer=3 --steps many",
             "heed: train --layer: there is no such flag; did you mean --layers? (see heed train --help)");
  // The flag is what is wrong, not that RUN is missing.
  check_said(
      folder, "generate --promt x",
      "heed: generate --promt: there is no such flag; did you mean --prompt? (see heed generate --help)");
  check_said(folder, "eval --no-such-thing-at-all",
             "heed: eval --no-such-thing-at-all: there is no such flag (see heed eval --help)");
}

TEST_CASE("a command that lacks a word, or has one too many, says which and whose help to see") {
  const Folder folder;
  for (const char* command : {"generate", "eval", "report", "attend", "export --out x"}) {
    const std::string name = std::string(command).substr(0, std::string(command).find(' '));
    check_said(folder, command, "heed: " + name + ": RUN is required (see heed " + name + " --help)");
  }
  check_said(folder, "import", "heed: import: FOLDER is required (see heed import --help)");
  check_said(folder, "eval run", "heed: eval: FILE is required (see heed eval --help)");
  check_said(folder, "attend run", "heed: attend: TEXT is required (see heed attend --help)");
  check_said(folder, "train text.txt",
             "heed: train: 'text.txt' is one word too many (see heed train --help)");
}

TEST_CASE("no number means that there is none: below their range, numbers are refused", "[fault-36]") {
  const Folder folder;
  int flags = 0;
  for (const auto& [command, arguments] : examples(folder)) {
    std::istringstream help(run_heed(folder, command + " --help").out);
    for (std::string line; std::getline(help, line);) {
      std::istringstream words(line);
      std::string flag;
      std::string type;
      words >> flag >> type;
      if (!flag.starts_with("--") || (!type.starts_with("INT") && !type.starts_with("FLOAT"))) continue;
      CAPTURE(command, flag);
      ++flags;
      const std::string rest = std::regex_replace(arguments, std::regex(" " + flag + " [^ ]+"), "");
      const Outcome outcome = run_heed(folder, command + rest + " " + flag + " -1");
      CHECK(outcome.status == 2);
      CHECK_THAT(outcome.err, Contains(flag + " is -1; expected"));
    }
  }
  CHECK(flags > 40);
}

TEST_CASE("attend says how many layers and heads there are", "[fault-36]") {
  const Folder folder;
  const std::string attend = "attend" + examples(folder).at("attend");
  for (const char* value : {"-1", "-9223372036854775808", "2", "9223372036854775807"}) {
    check_said(folder, attend + " --head " + value,
               "heed: attend: bad --head, --head is " + std::string(value) +
                   "; expected 0 to 1, as the model has 2 heads");
  }
  check_said(folder, attend + " --layer -1",
             "heed: attend: bad --layer, --layer is -1; expected 0 to 0, as the model has 1 layer");
}

TEST_CASE("generate says what to type in place of --model", "[fault-42]") {
  const Folder folder;
  check_said(folder, "generate --model run --tokens 3",
             "heed: generate: there is no --model; the model is the first word: heed generate run");
}

TEST_CASE("without a command there is the help, and status 2", "[fault-42]") {
  const Folder folder;
  const Outcome outcome = run_heed(folder, "");
  CHECK(outcome.status == 2);
  CHECK(outcome.out == run_heed(folder, "--help").out);
  CHECK(outcome.err == "heed: no command was given; heed train is the one to begin with\n");
}

TEST_CASE("the program says its version", "[fault-42]") {
  const Folder folder;
  const Outcome outcome = run_heed(folder, "--version");
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "heed " + std::string(heed::version()) + "\n");
}

TEST_CASE("help names every command, and that of each the word that names its model") {
  const Folder folder;
  const Outcome general = run_heed(folder, "--help");
  CHECK(general.status == 0);
  const std::vector<std::string> names = {"train",    "generate", "eval",   "report", "attend",
                                          "tokenize", "import",   "export", "verify"};
  CHECK(command_names(folder) == names);
  for (const std::string& command : names) {
    CAPTURE(command);
    const Outcome own = run_heed(folder, command + " --help");
    CHECK(own.status == 0);
    CHECK(own.err.empty());
    const bool has_model = command == "generate" || command == "eval" || command == "report" ||
                           command == "attend" || command == "export";
    CHECK((own.out.find("Usage: heed " + command + " [OPTIONS] RUN") != std::string::npos) == has_model);
  }
}

TEST_CASE("help of train names its flags") {
  const Folder folder;
  const Outcome train = run_heed(folder, "train --help");
  for (const char* flag : {"--preset",
                           "--data",
                           "--layers",
                           "--heads",
                           "--embd",
                           "--context",
                           "--batch",
                           "--steps",
                           "--lr",
                           "--min-lr",
                           "--warmup",
                           "--weight-decay",
                           "--clip",
                           "--dropout",
                           "--seed",
                           "--threads",
                           "--eval-every",
                           "--out",
                           "--check",
                           "--json",
                           "--config",
                           "--resume",
                           "--checkpoint-every",
                           "--keep",
                           "--optimizer",
                           "--schedule",
                           "--ema",
                           "--patience",
                           "--spike-factor",
                           "--accumulate"}) {
    CHECK_THAT(train.out, Contains(flag));
  }
}

TEST_CASE("a run that has no model yet says how it gets one") {
  const Folder folder;
  std::filesystem::create_directories(folder / "run/checkpoints");
  const Outcome outcome = run_heed(folder, "generate '" + (folder / "run") + "'");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("has no model yet") && Contains("heed train --resume --out"));
}

TEST_CASE("./dev demo --help says what the demo does and takes, and builds nothing") {
  const Folder folder;
  std::filesystem::copy(HEED_SOURCE_DIR "/dev", folder / "dev");
  const std::string command = "'" + (folder / "dev") + "' demo --help >'" + (folder / "out") + "' 2>&1";
  CHECK(std::system(command.c_str()) == 0);
  CHECK_THAT(contents(folder / "out"), Contains("usage: ./dev demo") && Contains("heed train"));
  CHECK_FALSE(std::filesystem::exists(folder / "build"));
}
