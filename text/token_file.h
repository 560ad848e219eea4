#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/io/atomic_file.h>
#include <heed/io/memory_map.h>
#include <heed/io/read_file.h>
#include <heed/text/token_text.h>
#include <heed/text/tokenizer.h>

namespace heed::text {

// A text as tokens, document after document, in a file that is mapped and not read.
// The format, little-endian:
//   "HEEDTOK\n", u32 version 1, u32 bytes of a token (2 or 4), u64 vocabulary size,
//   16 characters: checksum of the tokenizer's JSON;
//   the tokens, then zeros up to a multiple of 8;
//   u64 end of each document, in tokens;
//   u64 number of tokens, u64 number of documents, u64 checksum (FNV-1a) of everything before it.
// Counts and checksum come last, so that a file of any size can be written in one pass.

/// Writes a token file, whole or not at all: without commit() the destructor keeps the former file.
/// Throws    IoError; ValueError (a tokenizer of more than 2^32 ids).
class TokenFileWriter {
 public:
  TokenFileWriter(const std::string& path, const Tokenizer& tokenizer);

  /// Throws    IndexError for an id outside the vocabulary.
  void add_document(std::span<const std::int64_t> ids);
  std::int64_t tokens() const { return tokens_; }
  /// Call it once, after the last document.
  void commit();

 private:
  void write(std::string_view bytes);
  void write_number(std::uint64_t value, std::size_t width = 8);

  io::AtomicFile file_;
  io::Checksum checksum_;
  std::int64_t vocab_size_;
  std::size_t width_;
  std::int64_t tokens_ = 0;
  std::vector<std::int64_t> ends_;
};

/// A token file, mapped into memory. All of it is checked when it is opened: sizes,
/// checksum, ids, documents.
/// Throws    IoError naming the file and what is wrong with it.
class TokenFile {
 public:
  explicit TokenFile(const std::string& path);

  std::int64_t vocab_size() const { return vocab_size_; }
  TokenSpan tokens() const { return tokens_; }
  /// The end of each document, in tokens; the last one is tokens().size().
  std::span<const std::int64_t> document_ends() const { return ends_; }
  /// Checksums as 16 hexadecimal digits: of the tokenizer's JSON, and of the file.
  const std::string& tokenizer_checksum() const { return tokenizer_checksum_; }
  const std::string& checksum() const { return checksum_; }

  /// Throws    ValueError unless the file was written with this tokenizer.
  void check_tokenizer(const Tokenizer& tokenizer) const;

 private:
  io::MemoryMap map_;
  std::string path_;
  std::int64_t vocab_size_ = 0;
  TokenSpan tokens_;
  std::span<const std::int64_t> ends_;
  std::string tokenizer_checksum_;
  std::string checksum_;
};

/// Whether a file begins like a token file. False where it cannot be read.
bool is_token_file(const std::string& path);

}  // namespace heed::text
