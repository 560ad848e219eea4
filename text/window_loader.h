#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/core/share.h>
#include <heed/core/tensor.h>
#include <heed/text/token_text.h>

namespace heed::text {

/// A target that no loss counts.
constexpr std::int64_t kNoTarget = -100;

/// Token ids and, at each place, the id that follows: both i64 [batch, context].
struct Batch {
  Tensor inputs;
  Tensor targets;  // kNoTarget where nothing follows
  Tensor documents =
      {};  // i64, which document of its row a token belongs to; undefined: rows are of one piece
};

/// How many targets of a batch count.
std::int64_t counted_tokens(const Batch& batch, std::int64_t ignore_index = kNoTarget);

struct WindowOptions {
  std::int64_t context = 0;
  std::int64_t batch = 0;
  std::int64_t every = 0;  // windows begin at multiples of it; 0: anywhere, or side by side
  Share share = {};        // of a loader: the rows of each batch that it gives; maybe none
};

/// Batches of windows that begin at random places of a text, those at multiples of `every` if it is given. A batch
/// depends on the generator's seed and the step alone, so a run can be taken up at any step. The tokens are not
/// copied and must outlive the loader.
/// Throws    ValueError (options below 1; fewer than context + 1 tokens, saying have and need; a negative
/// step).
class WindowLoader {
 public:
  WindowLoader(TokenText tokens, const WindowOptions& options, Generator& generator);

  Batch batch(std::int64_t step) const;

 private:
  TokenText tokens_;
  WindowOptions options_;
  std::uint64_t seed_;
};

/// The text cut in windows side by side, in order: window w has tokens [w·every, w·every + context) as inputs, with
/// every = context unless it is given.
/// What is left at the end, less than a window and its last target, is not seen.
/// Throws    as WindowLoader; IndexError for a batch number outside 0 … batches()−1.
class WindowSequence {
 public:
  WindowSequence(TokenText tokens, const WindowOptions& options);

  std::int64_t windows() const { return windows_; }
  std::int64_t batches() const { return (windows_ + options_.batch - 1) / options_.batch; }
  /// The last one may have fewer windows.
  Batch batch(std::int64_t number) const;

 private:
  TokenText tokens_;
  WindowOptions options_;
  std::int64_t windows_;
};

}  // namespace heed::text
