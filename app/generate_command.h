#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <heed/lm/sampling.h>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed generate` can be told.
struct GenerateOptions {
  std::filesystem::path model;
  std::string prompt = "\n";
  std::int64_t tokens = 400;
  heed::lm::SamplingOptions sampling = {.temperature = 0.8};
  std::vector<std::string> stops = {};
  std::int64_t samples = 1;
  std::int64_t seed = 1;
  int threads = 0;
};

void add_generate_options(CLI::App& command, GenerateOptions& options);

/// `heed generate`: writes the prompt and its continuation to standard output, token by token, or
/// several texts that are written at a time.
int generate_text(const GenerateOptions& options);

}  // namespace heed::app
