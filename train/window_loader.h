#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/core/tensor.h>
#include <heed/train/token_text.h>

namespace heed::train {

/// Token ids and, at each place, the id that follows: both i64 [batch, context].
struct Batch {
  Tensor inputs;
  Tensor targets;
};

struct WindowOptions {
  std::int64_t context = 0;
  std::int64_t batch = 0;
};

/// Batches of windows that begin at random places of a text. A batch depends on the generator's seed and the
/// step alone, so a run can be taken up at any step. The tokens are not copied and must outlive the loader.
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

/// The text cut in windows side by side, in order: window w has tokens [w·context, (w+1)·context) as inputs.
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

}  // namespace heed::train
