#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

struct InductionOptions {
  std::int64_t keys = 8;    // letters from a, at most 26
  std::int64_t values = 8;  // digits from 0, at most 10
  std::int64_t steps = 1;   // largest distance to the next key, at most `keys`
};

/// A position whose next character can be copied from earlier text, and the positions to copy it from:
/// right after each earlier occurrence of the character at `query`.
struct CopyPlace {
  std::int64_t query = 0;
  std::vector<std::int64_t> sources;
};

/// Text that can be predicted only by copying from the context. Each document draws a table of its own, a
/// value for each key, and then lists entries of it: key, value, key, value, … such as `c3d7e0f1…`. The
/// next key is 1 … steps ahead of the one before, around the circle of keys. All draws are uniform. With M
/// values, in a training window that begins with a document,
///   H(x_{t+1} | x_1..x_t) = ln steps   where x_{t+1} is a key (t even),
///                           r_j ln M   where x_{t+1} is the value of entry j = (t − 1) / 2, counted from 0.
/// r_j is the probability that the key of entry j is new; otherwise its value was seen before. Read
/// backward, the keys walk around the circle too, so r_j is the probability that a walk does not return to
/// its start within j steps.
/// Throws    ValueError (keys outside 1 … 26, values outside 1 … 10, steps outside 1 … keys).
class InductionSource {
 public:
  explicit InductionSource(const InductionOptions& options = {});

  /// Documents of `length` characters each, one after the other. The same seed gives the same text
  /// on every platform.
  std::string generate(std::int64_t documents, std::int64_t length, std::uint64_t seed) const;

  /// Entry t−1 is H(x_{t+1} | x_1..x_t) in nats, t = 1 … context, exact.
  /// Throws    ValueError when context is 0.
  std::vector<double> conditional_entropy(std::size_t context) const;
  /// The mean of conditional_entropy(context): the lowest possible loss, averaged over the positions of
  /// a training window.
  double entropy_floor(std::size_t context) const;
  /// Entry t−1 is −ln P(x_{t+1} | x_1..x_t) for the characters of a training window: the loss of
  /// a perfect model.
  /// Throws    ValueError when no document begins like this.
  std::vector<double> surprisal(std::string_view window) const;

  /// The keys of a training window that occurred before in it.
  /// Throws    ValueError as surprisal.
  std::vector<CopyPlace> copies(std::string_view window) const;

 private:
  void check(std::string_view window) const;

  InductionOptions options_;
};

}  // namespace heed::text
