#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/core/share.h>
#include <heed/core/tensor.h>
#include <heed/text/token_text.h>

namespace heed::text {

/// A target that is left out of the loss.
constexpr std::int64_t no_target = -100;

/// Token ids and, at each position, the id that follows: both i64 [batch, context].
struct Batch {
  Tensor inputs;
  Tensor targets;  // no_target where nothing follows
  /// i64 [batch, context]: the number of the document, within its row, that a token belongs to. Undefined
  /// where each row is a single document.
  Tensor documents = {};
};

/// The number of targets that count in the loss.
std::int64_t counted_tokens(const Batch& batch, std::int64_t ignore_index = no_target);

struct WindowOptions {
  std::int64_t context = 0;
  std::int64_t batch = 0;
  std::int64_t every = 0;  // windows begin at its multiples; 0: anywhere (loader), side by side (sequence)
  Share share = {};        // of a loader: which rows of each batch it returns, possibly none
};

/// Batches of training windows that begin at random places of a text, or at multiples of `every` if it is
/// given. A batch depends only on the generator's seed and the step, so a run can be resumed at any step.
/// The tokens are not copied and must outlive the loader.
/// Throws    ValueError (options below 1; fewer than context + 1 tokens, naming both numbers;
///           a negative step).
class WindowLoader {
 public:
  WindowLoader(TokenText tokens, const WindowOptions& options, Generator& generator);

  Batch batch(std::int64_t step) const;

 private:
  TokenText tokens_;
  WindowOptions options_;
  std::uint64_t seed_;
};

/// A text cut into windows in order: window w has tokens [w·every, w·every + context) as inputs. `every` is
/// the context, so that windows lie side by side, unless it is given. Tokens left over at the end, fewer
/// than a window and its last target, are not used.
/// Throws    as WindowLoader; IndexError (a batch number outside 0 … batches()−1).
class WindowSequence {
 public:
  WindowSequence(TokenText tokens, const WindowOptions& options);

  std::int64_t windows() const { return windows_; }
  std::int64_t batches() const { return (windows_ - 1) / options_.batch + 1; }
  /// The last batch may have fewer windows.
  Batch batch(std::int64_t number) const;

 private:
  TokenText tokens_;
  WindowOptions options_;
  std::int64_t windows_;
};

}  // namespace heed::text
