#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace tiny_lm {

/// What `tiny_lm generate` can be told.
struct GenerateOptions {
  std::filesystem::path model;
  std::string prompt = "\n";
  std::int64_t tokens = 400;
  double temperature = 0.8;
  std::int64_t top_k = 0;
  std::int64_t seed = 1;
  int threads = 0;
};

void add_generate_options(CLI::App& command, GenerateOptions& options);

/// `tiny_lm generate`: writes the prompt and its continuation to standard output, token by token.
int generate_text(const GenerateOptions& options);

}  // namespace tiny_lm
