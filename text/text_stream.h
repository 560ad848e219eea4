#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/text/tokenizer.h>

namespace heed::text {

/// Turns tokens into text as they arrive. Text is returned as soon as it is certain: an unfinished UTF-8
/// character waits for its remaining bytes, and text that may be the beginning of a stop string waits until
/// that is decided. All returned text together is the decoded tokens, byte for byte, up to the first stop
/// string, which is left out. The tokenizer must outlive the stream.
/// Throws    ValueError for an empty stop string.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops = {});

  /// The text that has become certain; empty once a stop string was found.
  std::string push(std::int64_t token);
  /// Call it after the last token: returns the text that still waits.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::string waiting_;
  bool stopped_ = false;
};

}  // namespace heed::text
