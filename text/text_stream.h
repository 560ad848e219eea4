#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/text/tokenizer.h>

namespace heed::text {

/// Turns tokens into text as they come. Text is handed out as soon as it is certain: an unfinished UTF-8 character waits for
/// its other bytes, and what may be the beginning of a stop string waits until it is or is not one. All that is
/// handed out together is decode of the tokens, byte for byte, up to the first stop string, which is left out.
/// The tokenizer must outlive the stream.
/// Throws    ValueError for an empty stop string.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops = {});

  /// The text that became certain. Nothing once a stop string was met.
  std::string push(std::int64_t token);
  /// After the last token: what still waits.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::string waiting_;
  bool stopped_ = false;
};

}  // namespace heed::text
