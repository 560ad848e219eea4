#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed tokenize` can be told.
struct TokenizeOptions {
  std::vector<std::string> data = {};
  std::filesystem::path out = {};
  std::string tokenizer = "bpe";  // char, byte, bpe, or a tokenizer.json
  std::int64_t vocab_size = 1024;
};

void add_tokenize_options(CLI::App& command, TokenizeOptions& options);

/// Writes tokens.bin and tokenizer.json into a folder. The program's status.
/// Throws    IoError (a file cannot be read or written), ValueError (empty, a vocabulary below 256).
int tokenize_text(const TokenizeOptions& options);

}  // namespace heed::app
