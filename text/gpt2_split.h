#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace heed::text {

/// Cuts text into the pieces within which byte-level BPE merges, by GPT-2's pattern:
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// The pieces together are the text, in order and without gaps. Bytes that are not UTF-8 end a piece;
/// neighbouring bytes of that kind form a piece of their own.
class Gpt2Split {
 public:
  Gpt2Split();

  void operator()(std::string_view text, const std::function<void(std::string_view piece)>& call) const;

 private:
  std::shared_ptr<const void> pattern_;  // compiled; threads may share it
};

}  // namespace heed::text
