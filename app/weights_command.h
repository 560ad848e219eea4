#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed import` and `heed export` can be told.
struct WeightsOptions {
  std::filesystem::path model;
  std::filesystem::path out;
  std::string format = "gpt2";  // gpt2, llama, nanogpt
  std::int64_t shard_mib = 0;   // 0: one file
};

void add_import_options(CLI::App& command, WeightsOptions& options);
void add_export_options(CLI::App& command, WeightsOptions& options);

/// `heed import`: another program's model becomes a folder of heed's. Nothing is written unless all of it fits.
int import_weights(const WeightsOptions& options);
/// `heed export`: the other way round.
int export_weights(const WeightsOptions& options);

}  // namespace heed::app
