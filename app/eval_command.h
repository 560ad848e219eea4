#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed eval` can be told.
struct EvalOptions {
  std::filesystem::path model;
  std::vector<std::filesystem::path> files;
  std::int64_t stride = 0;  // 0: the context
  int threads = 0;
  bool json = false;
};

void add_eval_options(CLI::App& command, EvalOptions& options);

/// `heed eval`: prints how well a model predicts each text, and all of them, and how that was counted.
int evaluate_texts(const EvalOptions& options);

}  // namespace heed::app
