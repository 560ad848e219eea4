#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <heed/io/memory_map.h>
#include <heed/text/token_text.h>

namespace heed::text {

/// Tokens and nothing else, as nanoGPT's scripts leave them (train.bin): numbers of 2 or 4 bytes,
/// little-endian, without a header, mapped into memory. Such a file does not say how wide its tokens are.
/// That is `width`, or where it is 0, 2 for a vocabulary of at most 2^16 and else 4, as a TokenFileWriter has
/// it. All of it is checked when it is opened.
/// Throws    ValueError (width is not 0, 2 or 4, vocab_size is not 1 … 2^32); IoError naming the file: it
///           cannot be read, holds no token, has a size that is no multiple of the width, has an id outside
///           the vocabulary (naming the first and its position), or, width being 0, has 0 in every second
///           place, as tokens of twice the width would.
class TokenShard {
 public:
  TokenShard(const std::string& path, std::int64_t vocab_size, std::int64_t width = 0);

  TokenSpan tokens() const { return tokens_; }

 private:
  io::MemoryMap map_;
  TokenSpan tokens_;
};

/// Whether a path stands for such a file: a regular file whose name ends in .bin, and that is no TokenFile.
bool is_token_shard(const std::string& path);

}  // namespace heed::text
