#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace tiny_lm {

/// What `tiny_lm train` can be told. The defaults are the preset nano, with nanoGPT's recipe.
struct TrainOptions {
  std::string preset = "nano";
  std::filesystem::path text = {};  // empty: the built-in tales
  std::filesystem::path out = {};   // empty: write no files
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t embd = 128;
  std::int64_t context = 64;
  std::int64_t batch = 12;
  bool bias = false;
  std::int64_t steps = 2000;
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::int64_t warmup = 100;
  double weight_decay = 0.1;
  double clip = 1.0;  // 0: off
  double dropout = 0.0;
  std::int64_t seed = 1;
  int threads = 0;  // 0: as many as there are
  std::int64_t eval_every = 500;
  bool check = false;
  bool json = false;
};

void add_train_options(CLI::App& command, TrainOptions& options);

/// ValueError that names the flag, before anything is read or written.
void validate(const TrainOptions& options);

}  // namespace tiny_lm
