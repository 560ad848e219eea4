// Lines leave when they are written, whatever stdout is: a pipe that nobody sees as a terminal, and a run
// that is ended by force.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

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

}  // namespace

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
