#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace heed::text {

/// Cuts text into the pieces that byte-level BPE merges within, by GPT-2's pattern:
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// The pieces are the text, in order and without gaps. Bytes that are not UTF-8 end a piece and are pieces of their own, as
/// many as stand together.
class Gpt2Split {
 public:
  Gpt2Split();

  void operator()(std::string_view text, const std::function<void(std::string_view piece)>& call) const;

 private:
  std::shared_ptr<const void> pattern_;  // compiled; may be shared by threads
};

}  // namespace heed::text
