#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

/// Turns text into token ids 0..vocab_size()-1 and back. decode(encode(text)) == text for every text
/// that encode accepts.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocab_size() const = 0;

  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;

  /// Throws    IndexError naming the first id outside the vocabulary and its position.
  virtual std::string decode(std::span<const std::int64_t> tokens) const = 0;

  /// A JSON object that tokenizer_from_json turns into an equal tokenizer.
  virtual std::string to_json() const = 0;
};

/// One token for each byte: 256 ids, any bytes.
class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t vocab_size() const override { return 256; }
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int64_t> tokens) const override;
  std::string to_json() const override;
};

/// One token for each Unicode code point; ids are in the order of the code points.
class CharTokenizer final : public Tokenizer {
 public:
  /// The vocabulary is the set of characters of `text`.
  /// Throws    ValueError when the text is empty or not UTF-8 (naming the byte offset).
  explicit CharTokenizer(std::string_view text);

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(codes_.size()); }

  /// Throws    ValueError (a character outside the vocabulary, naming it and its position; a byte that is
  ///           not UTF-8, naming its offset).
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int64_t> tokens) const override;
  std::string to_json() const override;

 private:
  std::vector<char32_t> codes_;  // id → code point, ascending
};

/// Throws    IndexError naming the first id outside 0 … vocab_size − 1 and its position.
void check_token_ids(std::span<const std::int64_t> tokens, std::int64_t vocab_size);

/// The tokenizer that to_json described, or a Hugging Face tokenizer.json of byte-level BPE.
/// Throws    ValueError when the text is not such JSON or names another kind of tokenizer.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

}  // namespace heed::text
