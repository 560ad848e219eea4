#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <heed/text/gpt2_split.h>
#include <heed/text/tokenizer.h>

namespace heed::text {

/// The vocabulary of byte-level BPE.
struct BpeVocabulary {
  std::vector<std::string> tokens;  // the bytes of each token id; all 256 single bytes are among them
  std::vector<std::pair<std::int64_t, std::int64_t>> merges;  // pairs of ids that are joined, by rank
  std::vector<std::int64_t> added;  // ids that no text encodes to, such as that of <|endoftext|>
};

struct BpeTrainOptions {
  std::int64_t vocab_size = 1024;  // at least 256
  std::int64_t min_count = 2;      // a pair that occurs less often is not joined
  /// Called after each merge with the number of tokens so far.
  std::function<void(std::int64_t tokens, std::int64_t vocab_size)> on_progress = nullptr;
};

/// Learns merges. Again and again, the pair of tokens that occurs most often within the pieces of
/// Gpt2Split becomes a new token; of equally frequent pairs, the one with the lower ids. The same text
/// gives the same vocabulary on every platform. The result has fewer than vocab_size tokens when no pair
/// occurs often enough.
/// Throws    ValueError (vocab_size below 256, min_count below 1, 4 GiB of different pieces).
BpeVocabulary train_bpe(std::string_view text, const BpeTrainOptions& options);

/// Byte-level BPE as in GPT-2, for any bytes: decode(encode(bytes)) == bytes. Text is cut into pieces by
/// Gpt2Split. Within a piece the merge of lowest rank is applied first; of equal ones, the leftmost.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Throws    ValueError (a byte without a token, a token twice, a merge that names or gives no token,
  ///           a merge twice).
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(vocabulary_.tokens.size()); }
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int64_t> tokens) const override;
  /// A Hugging Face tokenizer.json.
  std::string to_json() const override;

  const BpeVocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    std::int64_t rank = 0;
    std::int64_t result = 0;
  };

  static std::uint64_t key(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
  }
  const Merge* find(std::int64_t left, std::int64_t right) const;
  std::vector<std::int64_t> merge(std::string_view piece) const;

  BpeVocabulary vocabulary_;
  Gpt2Split split_;
  std::vector<std::int64_t> byte_ids_;               // token id of each of the 256 bytes
  std::unordered_map<std::uint64_t, Merge> merges_;  // by the pair of ids, see key()
};

/// The vocabulary of a Hugging Face tokenizer.json, which must be BPE with the ByteLevel pre-tokenizer and
/// decoder, without normalizer, prefix space, dropout or fallback for unknown tokens.
/// Throws    ValueError naming all that is of another kind or contradicts itself, up to ten of them.
BpeVocabulary bpe_from_huggingface(std::string_view json);

/// Writes to_json() to a file, whole or not at all.
/// Throws    IoError.
void save_tokenizer(const std::string& path, const Tokenizer& tokenizer);
/// Reads a tokenizer.json of Hugging Face's or of heed's, or the vocabulary of load_gpt2_files with
/// merges.txt beside it.
/// Throws    IoError naming the file and what is wrong with it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

/// GPT-2's two files: a JSON object from tokens to ids, and a text file with one merge on each line.
/// Throws    IoError naming the file and what is wrong with it.
BpeVocabulary load_gpt2_files(const std::string& vocab_json, const std::string& merges_txt);
void save_gpt2_files(const std::string& vocab_json, const std::string& merges_txt,
                     const BpeVocabulary& vocabulary);

}  // namespace heed::text
