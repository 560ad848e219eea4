#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::check {

/// A model under test: x [B, T, ..] → y [B, T, ..]. Either x is floating, or it holds token ids (i32 or i64). It gives the
/// same bits each time: one that drops makes its Generator anew in each call.
using SequenceModel = std::function<Tensor(const Tensor& x)>;

struct IsolationOptions {
  /// Axis of the positions, in x and in y: 1 for [B, T, C], 2 for heads [B, H, T, D]. Axis 0 counts the samples.
  int time_axis = 1;
  /// Of more questions than these, so many are asked, evenly spread.
  std::int64_t max_questions = 64;
  std::uint64_t seed = 1;
};

/// Three independent ways to ask whether one part of x reaches another part of y.
enum class IsolationWay {
  planted_nan,  ///< NaN in the forbidden part of x leaves the other part of y as it is, bit by bit
  gradient,  ///< the vector-Jacobian product of the other part of y is exactly zero in the forbidden part of x
  replacement,  ///< random values in the forbidden part of x leave the other part of y as it is, bit by bit
};
std::string_view name_of(IsolationWay way);

struct SequencePlace {
  std::int64_t sample = 0;
  std::int64_t position = 0;
};

/// What one way found.
struct IsolationEvidence {
  std::int64_t asked = 0;
  std::int64_t leaks = 0;      ///< questions answered by "it reaches"
  std::string not_asked = {};  ///< why this way was not taken
};

struct IsolationResult {
  std::string check = {};
  bool passed = true;
  std::string problem = {};   ///< what stands between the model and a proof, such as two calls that differ
  std::string question = {};  ///< what was asked, in words
  std::int64_t possible = 0;  ///< questions there are
  std::array<IsolationEvidence, 3> evidence = {};  ///< by IsolationWay
  // Of the first leak:
  SequencePlace from = {};  ///< this place of x …
  SequencePlace to = {};    ///< … reaches this place of y.
  std::string op =
      {};  ///< the first operation on the tape that carries it there; empty if the tape does not show it
  std::string scope = {};  ///< the module it ran in

  const IsolationEvidence& by(IsolationWay way) const { return evidence[static_cast<std::size_t>(way)]; }
  /// One sentence, then one line a way, and the operation.
  std::string report() const;
  std::string to_json() const;
};

// Each plants NaN, takes the vector-Jacobian product, and replaces at random. A pass by all ways is a pass. Token ids
// cannot be NaN, and their gradient is that of their embeddings; tokens are replaced by others that are not above the
// largest one of x. Parameters are read and get no gradients.
// Throws (all)  ShapeError (x without the time axis; y with other samples or positions), DTypeError (x boolean), ValueError
//               (max_questions < 1; nothing that could leak, such as one sample in check_batch_isolation).

/// No output at a position hears a later position. One question for each cut between two positions.
IsolationResult check_causal(const SequenceModel& model, const Tensor& x,
                             const IsolationOptions& options = {});

/// No sample hears another one. One question a sample.
IsolationResult check_batch_isolation(const SequenceModel& model, const Tensor& x,
                                      const IsolationOptions& options = {});

/// No output within the length of its sample hears what lies behind; lengths i64 [B], known to the model too.
IsolationResult check_padding(const SequenceModel& model, const Tensor& x, const Tensor& lengths,
                              const IsolationOptions& options = {});

/// No output hears another document; ids i64 [T] or [B, T], known to the model too. One question a document.
IsolationResult check_documents(const SequenceModel& model, const Tensor& x, const Tensor& ids,
                                const IsolationOptions& options = {});

}  // namespace heed::check
