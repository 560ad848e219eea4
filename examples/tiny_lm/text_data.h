#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <heed/train/tokenizer.h>

#include "train_options.h"

namespace tiny_lm {

/// A text as tokens: the first nine tenths to train on, the last tenth to validate with.
struct TextData {
  std::string name;
  std::unique_ptr<heed::train::Tokenizer> tokenizer;
  std::vector<std::int64_t> tokens;
  std::string checksum;  // of the text
  std::string unit;      // what a token is: character, byte, token
  /// The least mean loss a model can reach, where the source of the text is known.
  std::optional<double> floor;

  std::size_t cut() const { return tokens.size() / 10 * 9 + tokens.size() % 10 * 9 / 10; }
  std::span<const std::int64_t> training() const { return std::span(tokens).first(cut()); }
  std::span<const std::int64_t> validation() const { return std::span(tokens).subspan(cut()); }
};

/// The text of the options: the file, or the built-in tales.
/// Throws    IoError (the file cannot be read), ValueError (empty, not UTF-8, too short for the context).
TextData load_text(const TrainOptions& options);

}  // namespace tiny_lm
