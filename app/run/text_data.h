#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <heed/app/settings/train_options.h>
#include <heed/text/text_corpus.h>
#include <heed/text/token_file.h>
#include <heed/text/token_shard.h>
#include <heed/text/tokenizer.h>

namespace heed::app {

/// A text as tokens, in two parts: one to train on, one to validate with. Spans lie in `ids`, or
/// in `file`, or in `shards`.
struct TextData {
  std::string name;
  std::unique_ptr<heed::text::Tokenizer> tokenizer;
  std::vector<std::int64_t> ids = {};
  std::optional<heed::text::TokenFile> file = {};
  std::vector<heed::text::TokenShard> shards = {};
  std::int64_t token_count = 0;  // of all of them
  std::int64_t first_token = 0;
  heed::text::TokenSplit split = {};
  std::string checksum = {};  // of the text and where its documents end, or of the token file
  std::int64_t every = 0;     // windows begin at multiples of it; 0: anywhere
  std::string unit = {};      // what a token is: character, byte, token
  /// The least mean loss a model can reach, where the source of the text is known.
  std::optional<double> floor = {};
};

/// The tokenizer that the options name, made from a text where it learns from one, and what its
/// token is called.
std::unique_ptr<heed::text::Tokenizer> make_tokenizer(const std::string& name, std::int64_t vocab_size,
                                                      const std::string& text, std::string& unit,
                                                      bool quiet = false);

/// Files as a text for a tokenizer of this name. What is left out of them is said, unless quiet.
/// Throws    IoError (a file cannot be read, is not UTF-8 for a tokenizer of characters), ValueError that
///           begins with `command` (empty).
heed::text::TextCorpus read_text(const char* command, const std::vector<std::string>& files,
                                 const std::string& tokenizer, bool quiet = false);

/// Says in one line on standard error which files began with a byte-order mark, if any did.
void tell_byte_order_marks(const std::vector<std::string>& files);

/// The text of the options: files and folders, a token file, .bin files of tokens without a header, or what a
/// built-in source tells.
/// Throws    IoError (a file cannot be read, is not UTF-8 for a tokenizer of characters, is a broken token
///           file), ValueError (empty, too short for the context, a token file with another tokenizer).
TextData load_text(const TrainOptions& options);

}  // namespace heed::app
