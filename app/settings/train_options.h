#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed::app {

/// What `heed train` can be told. The defaults are the preset nano, with nanoGPT's recipe.
struct TrainOptions {
  std::string preset = "nano";
  std::vector<std::string> data = {};  // empty: what the source tells
  std::string source = "tales";        // or induction
  bool pack = false;
  std::string split = "tail";      // or document
  std::string tokenizer = "char";  // char, byte, bpe, or a tokenizer.json
  std::int64_t vocab_size = 1024;  // of bpe
  std::int64_t token_bytes = 0;    // of a .bin file without a header; 0: as the vocabulary needs
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t embd = 128;
  std::int64_t context = 64;
  double dropout = 0.0;
  bool bias = false;
  std::string style = "gpt";  // or llama
  std::int64_t kv_heads = 0;  // 0: heads
  std::int64_t batch = 12;
  std::int64_t accumulate = 1;
  std::int64_t steps = 2000;
  std::string optimizer = "adamw";
  std::string schedule = "cosine";
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t decay = 400;  // of the schedule warmup-stable-decay
  double beta1 = 0.9;
  double beta2 = 0.99;
  double momentum = 0.9;
  double weight_decay = 0.1;
  double clip = 1.0;          // 0: off
  double spike_factor = 0;    // 0: off
  double ema = 0;             // 0: off
  std::int64_t patience = 0;  // 0: off
  std::int64_t seed = 1;
  int threads = 0;  // 0: as many as there are
  std::int64_t eval_every = 500;
  std::int64_t checkpoint_every = 0;  // 0: off
  std::int64_t keep = 2;

  // What a file of settings does not hold.
  std::filesystem::path out = {};  // empty: write no files
  std::filesystem::path config = {};
  bool resume = false;
  bool check = false;
  bool json = false;
  bool quiet = false;  // another process of the same run speaks and writes
};

/// Whether a setting, by its flag, changes anything, the others being what they are: a momentum does not with
/// an optimizer that has none.
bool applies(const TrainOptions& options, std::string_view flag);

/// The settings that apply as one JSON object, keys as the flags with _ for -.
std::string settings_json(const TrainOptions& options);

/// Takes the settings of a JSON file: that of --config or, with --resume, run.json under --out, which has the
/// settings that the run was begun with. The flags must be read again after it, so that they win. Does
/// nothing without --config and --resume.
/// Throws    IoError (the file), ValueError (an unknown key, a value of the wrong kind, --resume without
///           --out or with --config).
void load_settings(TrainOptions& options);

/// ValueError that names the flag, before anything is read or written.
void validate(const TrainOptions& options);

}  // namespace heed::app
