// The examples, as a reader would run them.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <heed/tests/app/folder.h>

using Catch::Contains;

namespace {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run_example(const Folder& folder, const std::string& name, const std::string& arguments = {}) {
  const std::string command =
      "cd '" + folder.path.string() + "'; '" HEED_BIN_DIR "/" + name + "' " + arguments + " >out 2>err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"), contents(folder / "err")};
}

}  // namespace

TEST_CASE("tiny_lm learns a text of its reader's, its losses fall, and it writes") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const Outcome outcome = run_example(folder, "tiny_lm", "text.txt 60");
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.out, Contains("780 characters, 10 different ones"));
  std::vector<double> losses;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find("   loss "); at != std::string::npos)
      losses.push_back(std::stod(line.substr(at + 8)));
  }
  REQUIRE(losses.size() == 10);
  for (std::size_t i = 1; i < losses.size(); ++i) CHECK(losses[i] < losses[i - 1]);
  CHECK(losses.back() < losses.front() / 2);
  const std::string sample = outcome.out.substr(outcome.out.find("\n\n", outcome.out.find("loss")) + 2);
  CHECK(sample.size() > 300);  // 301 characters, of one or two bytes, and the end of the line
  CHECK_THAT(sample, Contains(" and tea\n"));
}

TEST_CASE("tiny_lm says what it lacks") {
  const Folder folder;
  const Outcome none = run_example(folder, "tiny_lm");
  CHECK(none.status == 1);
  CHECK_THAT(none.err, Contains("tiny_lm FILE"));
  const Outcome absent = run_example(folder, "tiny_lm", "absent.txt");
  CHECK(absent.status == 1);
  CHECK_THAT(absent.err, Contains("absent.txt"));
}

// Both end with another status when a proof says something else than their page does.
TEST_CASE("the examples of proofs prove what they say") {
  const Folder folder;
  for (const std::string name : {"custom_op", "gradcheck"}) {
    const Outcome outcome = run_example(folder, name);
    CAPTURE(name, outcome.out, outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, Contains("agree") && Contains("failed"));
  }
}
