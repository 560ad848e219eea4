#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <heed/train/sampling.h>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace tiny_lm {

/// What `tiny_lm generate` can be told.
struct GenerateOptions {
  std::filesystem::path model;
  std::string prompt = "\n";
  std::int64_t tokens = 400;
  heed::train::SamplingOptions sampling = {.temperature = 0.8};
  std::vector<std::string> stops = {};
  std::int64_t samples = 1;
  std::int64_t seed = 1;
  int threads = 0;
};

void add_generate_options(CLI::App& command, GenerateOptions& options);

/// `tiny_lm generate`: writes the prompt and its continuation to standard output, token by token, or
/// several texts that are written at a time.
int generate_text(const GenerateOptions& options);

}  // namespace tiny_lm
