// Encoding and decoding by byte-level BPE in bytes per second, over the text HEED_BENCH_TEXT (by default
// ../shared's tinyshakespeare): with a vocabulary learned from that text, and with GPT-2's if HEED_GPT2_DIR
// names a folder with encoder.json and vocab.bpe.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <heed/core/random.h>
#include <heed/io/read_file.h>
#include <heed/text/bpe_tokenizer.h>

using namespace heed;

namespace {

void set_bytes(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void add_benchmarks(const std::string& name, const text::BpeTokenizer& tokenizer, const std::string& text) {
  benchmark::RegisterBenchmark(("encode/" + name).c_str(), [&](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text));
    set_bytes(state, text);
  });
  benchmark::RegisterBenchmark(("decode/" + name).c_str(), [&](benchmark::State& state) {
    const std::vector<std::int64_t> tokens = tokenizer.encode(text);
    for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(tokens));
    set_bytes(state, text);
  });
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  const std::string text = io::read_file(variable("HEED_BENCH_TEXT", "../shared/data/tinyshakespeare.txt"),
                                         std::uint64_t{1} << 30);
  const text::BpeTokenizer learned(text::train_bpe(text, {.vocab_size = 1024}));
  add_benchmarks("learned-1024", learned, text);
  const std::filesystem::path gpt2 = variable("HEED_GPT2_DIR", "");
  std::optional<text::BpeTokenizer> theirs;
  if (!gpt2.empty()) {
    theirs.emplace(text::load_gpt2_files(gpt2 / "encoder.json", gpt2 / "vocab.bpe"));
    add_benchmarks("gpt2", *theirs, text);
    benchmark::RegisterBenchmark("load/gpt2", [&](benchmark::State& state) {
      for (auto _ : state) {
        benchmark::DoNotOptimize(text::load_gpt2_files(gpt2 / "encoder.json", gpt2 / "vocab.bpe"));
      }
    })->Unit(benchmark::kMillisecond);
  }
  // A piece without blanks, as of a genome.
  benchmark::RegisterBenchmark("learn/one_piece", [](benchmark::State& state) {
    Generator generator(1);
    std::string letters;
    for (const auto i : randint(0, 4, {1 << 20}, generator).to_vector<std::int64_t>()) {
      letters += "acgt"[static_cast<std::size_t>(i)];
    }
    for (auto _ : state) benchmark::DoNotOptimize(text::train_bpe(letters, {.vocab_size = 1024}));
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
}
