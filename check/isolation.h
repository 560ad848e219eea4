#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::check {

/// A model under test: x [B, T, ..] → y [B, T, ..], or with other axes that the options name. Either x is
/// floating, or it holds token ids (i32 or i64). It gives the same bits each time: one that drops makes its
/// Generator anew in each call.
using SequenceModel = std::function<Tensor(const Tensor& x)>;

struct IsolationOptions {
  static constexpr int no_axis = -1;

  /// Axis of the positions in x, such as 1 for [B, T, C], 2 for heads [B, H, T, D], 0 for time-major
  /// [T, B, C].
  int time_axis = 1;
  /// Axis of the samples in x; no_axis: x is one sample.
  int batch_axis = 0;
  /// The same of y, where they are others than those of x.
  std::optional<int> output_time_axis = {};
  std::optional<int> output_batch_axis = {};
  /// Of more questions than these, so many are asked in every way, evenly spread. Not given: the derivative
  /// is asked all; the other ways are asked all up to 256 questions, and 64 of more.
  std::optional<std::int64_t> max_questions = {};
  std::uint64_t seed = 1;
  /// Whether it is a failure that a place is read with weight zero, so that NaN or infinities there spread.
  /// If not, it is a warning.
  bool poison_proof = false;
  /// Tokens are replaced by any token below this; 0: by tokens up to the largest one of x.
  std::int64_t vocab_size = 0;
};

/// Three independent ways to ask whether one part of x reaches another part of y.
enum class IsolationWay {
  planted_nan,  ///< NaN in the forbidden part of x leaves the other part of y as it is, bit by bit
  gradient,     ///< the vector-Jacobian product of the other part of y is exactly zero in the forbidden one
  replacement,  ///< random values in the forbidden part of x, of its size and a thousand times as large, leave
                ///< the other part of y as it is, bit by bit
};
std::string_view name_of(IsolationWay way);

/// What all ways together say; the later, the more.
enum class IsolationFinding {
  nothing,      ///< nothing arrives
  weight_zero,  ///< only NaN or infinity is heard: the place is read, and counts zero times
  value,        ///< a finite replacement is heard, and the derivative is zero
  derivative,   ///< the derivative hears it
};
std::string_view name_of(IsolationFinding finding);

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
  IsolationFinding finding = IsolationFinding::nothing;
  // Where something was found:
  SequencePlace from = {};  ///< this place of x …
  SequencePlace to = {};    ///< … reaches this place of y.
  /// The first operation on the tape that carries it there. Of a leak that the tape does not show, such as
  /// one through detach: the first one whose result has heard of it. Empty if there is none.
  std::string op = {};
  std::string scope = {};  ///< the module it ran in
  // Of check_padding:
  std::int64_t dead_rows = 0;  ///< rows within their length that hear nothing at all
  SequencePlace dead = {};     ///< the first
  std::string dead_op = {};    ///< attention whose query it is, if not a row of y
  std::string dead_scope = {};

  const IsolationEvidence& by(IsolationWay way) const { return evidence[static_cast<std::size_t>(way)]; }
  /// Passed, but some place is read with weight zero.
  bool warned() const { return passed && finding == IsolationFinding::weight_zero; }
  /// One sentence, then one line a way, and the operation.
  std::string report() const;
  std::string to_json() const;
};

// Each plants NaN, takes the vector-Jacobian product, and replaces at random. A pass by all ways is a pass.
// Token ids cannot be NaN, and their gradient is that of the rows that they alone decide, such as rows of an
// embedding: which row belongs to which token is found by changing tokens, so that any layout inside of the
// model will do. Parameters are read and get no gradients.
// Throws (all)  ShapeError (x without its axes; y with other samples or positions), DTypeError (x boolean),
//               ValueError (max_questions < 1; equal axes; nothing that could leak, such as one sample in
//               check_batch_isolation).

/// No output at a position hears a later position. One question for each cut between two positions.
IsolationResult check_causal(const SequenceModel& model, const Tensor& x,
                             const IsolationOptions& options = {});

/// No sample hears another one. One question a sample.
IsolationResult check_batch_isolation(const SequenceModel& model, const Tensor& x,
                                      const IsolationOptions& options = {});

/// No output within the length of its sample hears what lies behind, and each hears something; lengths i64
/// [B], known to the model too. A row hears nothing if it keeps its bits whatever stands within the length,
/// while the same row of another sample does not, or it is zero; or a query of `attention` that belongs to a
/// token within its length gets zeros.
IsolationResult check_padding(const SequenceModel& model, const Tensor& x, const Tensor& lengths,
                              const IsolationOptions& options = {});

/// No output hears another document; ids i64 [T] or [B, T], known to the model too. One question a document.
IsolationResult check_documents(const SequenceModel& model, const Tensor& x, const Tensor& ids,
                                const IsolationOptions& options = {});

}  // namespace heed::check
