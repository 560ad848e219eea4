// What goes wrong on a machine, and that it ends in order: an error that says what, an exit status other than
// 0, no hang, nothing lost. Signals, kills and torn checkpoints are in resume_test.cpp.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/resource.h>

#include <heed/core/allocator.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/nn/causal_lm.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/tests/support/resident.h>
#include <heed/tests/support/user_threads.h>
#include <heed/train/evaluate.h>

#include "program.h"

namespace fs = std::filesystem;
using Catch::Contains;

using heed::test::failures;
using heed::test::sanitized;
using heed::test::user_threads;

namespace {

const std::string tiny_options = " --layers 1 --heads 2 --embd 16 --context 16 --warmup 1 --eval-every 0";

std::string train(const Folder& folder, const std::string& rest) {
  return "train --data '" + (folder / "text.txt") + "' --out '" + (folder / "run") + "'" + tiny_options +
         rest;
}

bool one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1; }

// What a forked child makes of `body`: its exit status, or 128 + the signal that ended it. A hang ends
// after 20 s.
template <class Body>
int status_of_child(Body&& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

heed::nn::CausalLM small_model(std::uint64_t seed) {
  heed::Generator random(seed);
  return {{.vocab_size = 20, .context = 16, .num_layers = 2, .num_heads = 2, .embed_dim = 32}, random};
}

heed::text::Batch small_batch(std::int64_t seed) {
  std::vector<std::int64_t> ids(4 * 17);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = (static_cast<std::int64_t>(i * i) + seed) % 20;
  const heed::Tensor all = heed::from_span(std::span<const std::int64_t>(ids), {4, 17});
  return {heed::narrow(all, 1, 0, 16), heed::narrow(all, 1, 1, 16)};
}

// The gradients of a model of this seed, one after the other.
std::vector<float> gradients(std::uint64_t seed) {
  const heed::nn::CausalLM model = small_model(seed);
  heed::backward(heed::train::batch_loss(model, small_batch(static_cast<std::int64_t>(seed))));
  std::vector<float> all;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const auto part = parameter.grad().to_vector<float>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::int64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

template <class Happened>
bool comes(Happened&& happened) {
  for (int tries = 0; tries < 4000; ++tries) {
    if (happened()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void limit_address_space(std::int64_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  ::setrlimit(RLIMIT_AS, &limit);
}

}  // namespace

TEST_CASE("a disk that fills up on the way costs no checkpoint that is there", "[report-42][fault-35]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  REQUIRE(run_heed(folder, train(folder, " --steps 4 --checkpoint-every 2")).status == 0);
  const std::string model = contents(folder / "run/model.safetensors");
  const std::string resume = "train --resume --out '" + (folder / "run") + "' --steps 8";
  // Files may grow to 8 blocks of 1 KiB: no checkpoint fits.
  const Outcome full = run_heed(folder, resume, "trap '' XFSZ; ulimit -f 8; ");
  CHECK(full.status == 1);
  for (const char* step : {"step 6", "step 8"}) {
    CHECK_THAT(full.err, Contains("heed: " + std::string(step) + " has no checkpoint: write: cannot write"));
  }
  CHECK_THAT(full.err, Contains("File too large; the run goes on and tries again at the next"));
  CHECK_THAT(full.err, Contains("heed: the model could not be written: write: cannot write") &&
                           Contains("once there is room, heed train --resume --out " + (folder / "run") +
                                    " goes on from the last checkpoint\n"));
  CHECK_THAT(full.out, Contains("sample ") && Contains("nats per character") && !Contains("files  "));
  CHECK(contents(folder / "run/model.safetensors") == model);
  for (const auto& entry : fs::recursive_directory_iterator(folder / "run")) {
    CHECK_THAT(entry.path().filename().string(), !Contains("tmp"));
  }
  const Outcome resumed = run_heed(folder, resume);
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.out, Contains("resume    from step 4"));
  CHECK_THAT(resumed.err, !Contains("passed over"));
}

TEST_CASE("a run that met a full disk keeps what it learned, and saves it once there is room", "[fault-35]") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string said = folder / "stderr";
  // The limit is soft, so that it can be lifted while the run goes on.
  const std::string job = "trap '' XFSZ; ulimit -S -f 8; echo $$ >'" + (folder / "number") + "'; exec '" +
                          HEED_BIN_DIR "/heed' " + train(folder, " --steps 100000000 --checkpoint-every 20") +
                          " >'" + (folder / "stdout") + "' 2>'" + said + "'";
  int status = -1;
  std::thread runner([&] { status = std::system(job.c_str()); });
  const bool noticed = comes([&] { return contents(said).find("has no checkpoint") != std::string::npos; }) &&
                       comes([&] { return contents(said).find("log is tried") != std::string::npos; });
  const int number = std::stoi(contents(folder / "number"));
  const rlimit room = {RLIM_INFINITY, RLIM_INFINITY};
  CHECK(::prlimit(number, RLIMIT_FSIZE, &room, nullptr) == 0);
  const bool saved = comes([&] {
    const fs::path checkpoints = folder / "run/checkpoints";
    return fs::exists(checkpoints) && !fs::is_empty(checkpoints);
  });
  ::kill(number, SIGTERM);
  runner.join();
  CHECK(noticed);
  CHECK(saved);
  CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
  const std::string out = contents(folder / "stdout");
  const auto at = out.find("stopped   after step ");
  REQUIRE(at != std::string::npos);
  const std::int64_t steps = std::stol(out.substr(at + 21));
  CHECK_THAT(out, Catch::EndsWith("; to go on: heed train --resume --out " + (folder / "run") + "\n"));
  // The log has the header and every step once, though lines of it had to wait.
  std::ifstream log(folder / "run/log.jsonl");
  std::int64_t lines = 0;
  for (std::string line; std::getline(log, line); ++lines) {
    CHECK_THAT(line, Catch::StartsWith("{\"step\":" + std::to_string(lines) + ","));
  }
  CHECK(lines == steps + 1);
  const Outcome resumed = run_heed(
      folder, "train --resume --out '" + (folder / "run") + "' --steps " + std::to_string(steps + 2));
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.out, Contains("resume    from step " + std::to_string(steps)));
}

TEST_CASE("a folder that cannot be written is refused before the first step") {
  const Folder folder;
  put(folder / "text.txt", sample_text());
  if (::geteuid() == 0) {
    // Root may write everywhere but where the kernel itself refuses to.
    const Outcome outcome = run_heed(
        folder, "train --data '" + (folder / "text.txt") + "' --out /proc/run --steps 2" + tiny_options);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Contains("/proc/run"));
    CHECK(one_line(outcome.err));
    return;
  }
  fs::create_directories(folder / "run");
  fs::permissions(folder / "run", fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome = run_heed(folder, train(folder, " --steps 2"));
  fs::permissions(folder / "run", fs::perms::owner_all);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("Permission denied"));
  CHECK(one_line(outcome.err));
}

TEST_CASE("memory that runs out in the forward ends the program with a message", "[report-42]") {
  if (sanitized) return;
  const Folder folder;
  put(folder / "text.txt", sample_text());
  // The model takes a megabyte; what its batch of a quarter of a million tokens needs is far beyond
  // the 512 MiB.
  const Outcome outcome = run_heed(folder, train(folder, " --batch 16384 --steps 2 --threads 2"),
                                   "ulimit -v 524288; timeout 30 ");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Contains("heed: not enough memory"));
}

TEST_CASE("in any address space that holds the libraries a run ends, well or with a message", "[report-42]") {
  if (sanitized) return;
  const Folder folder;
  put(folder / "text.txt", sample_text());
  const std::string tiny = "train --data '" + (folder / "text.txt") +
                           "' --layers 1 --embd 16 --heads 2 --context 16 --batch 2 --steps 2 --threads 2";
  // Two buffers of OpenBLAS are 256 MiB; with less it would wait for them for ever.
  for (const int mib : {220, 300, 400, 480, 700}) {
    const Outcome outcome =
        run_heed(folder, tiny, "ulimit -v " + std::to_string(mib * 1024) + "; timeout -k 1 30 ");
    CAPTURE(mib, outcome.status, outcome.err);
    CHECK((outcome.status == 0 || outcome.status == 2));
    CHECK((outcome.status == 0 || outcome.err.find("heed: not enough memory") == 0));
  }
}

TEST_CASE("memory that runs out in the backward is an exception, and the next backward is right",
          "[report-42]") {
  if (sanitized) return;
  const auto body = [] {
    const heed::Tensor x = heed::zeros({1 << 24}).set_requires_grad();  // 64 MiB, as its gradient
    const heed::Tensor loss = heed::sum(heed::exp(x));
    heed::release_cached();
    limit_address_space(address_space() + (1 << 20));
    try {
      heed::backward(loss);
      return 1;
    } catch (const std::bad_alloc&) {
    }
    limit_address_space(static_cast<std::int64_t>(RLIM_INFINITY));
    if (x.grad().defined()) return 2;
    heed::backward(heed::sum(heed::exp(x)));
    return x.grad().data<float>()[0] == 1.0f ? 0 : 3;
  };
  CHECK(status_of_child(body) == 0);
}

TEST_CASE("a file of tokens that is cut while it is read ends the program with a message") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += sample_text();
  put(folder / "text.txt", text);
  const std::string tokens = folder / "tokens/tokens.bin";
  const std::string tokenize = "tokenize --data '" + (folder / "text.txt") + "' --tokenizer byte --out '";
  REQUIRE(run_heed(folder, tokenize + (folder / "tokens") + "'").status == 0);
  const std::string arguments = "train --data '" + tokens + "' --tokenizer '" +
                                (folder / "tokens/tokenizer.json") + "' --out '" + (folder / "run") + "'" +
                                tiny_options + " --steps 100000000 --checkpoint-every 1";
  std::thread cut([&] {
    for (int i = 0; i < 2000 && !fs::exists(folder / "run/checkpoints"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    fs::resize_file(tokens, 4096);
  });
  const Outcome outcome = run_heed(folder, arguments, "timeout 30 ");
  cut.join();
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.err, Catch::EndsWith("heed: a file became shorter while it was read\n"));
}

TEST_CASE("eight threads train models of their own", "[report-49]") {
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < user_threads; ++i) expected.push_back(gradients(static_cast<std::uint64_t>(i)));
  const auto body = [&](int i) {
    return gradients(static_cast<std::uint64_t>(i)) == expected[static_cast<std::size_t>(i)];
  };
  CHECK(failures(body) == 0);
}

TEST_CASE("eight threads ask one model", "[report-49]") {
  const heed::nn::CausalLM model = small_model(1);
  const heed::NoGrad still;
  const auto answer = [&](int i) { return heed::train::batch_loss(model, small_batch(i)).item<float>(); };
  std::vector<float> expected;
  for (int i = 0; i < user_threads; ++i) expected.push_back(answer(i));
  const auto body = [&](int i) {
    const heed::NoGrad own;  // gradients are on or off for each thread by itself
    for (int k = 0; k < 5; ++k) {
      if (answer(i) != expected[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  };
  CHECK(failures(body) == 0);
}

TEST_CASE("the library within regions of OpenMP", "[report-49]") {
#ifndef _OPENMP
  WARN("built without OpenMP: not tested");
#else
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(gradients(static_cast<std::uint64_t>(i)));
  std::atomic<int> wrong{0};
#pragma omp parallel for num_threads(4) schedule(dynamic)
  for (int i = 0; i < 8; ++i) {
    if (gradients(static_cast<std::uint64_t>(i % 4)) != expected[static_cast<std::size_t>(i % 4)]) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(gradients(0) == expected[0]);
#endif
}

TEST_CASE("a forked child trains, with the same bits", "[report-49]") {
  const auto expected = gradients(3);  // the threads exist before the fork
  CHECK(status_of_child([&] { return gradients(3) == expected ? 0 : 1; }) == 0);
}
