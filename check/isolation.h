#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <heed/core/tensor.h>

namespace heed::check {

/// A model under test: x [B, T, ..] → y [B, T, ..], or with other axes, which the options name. x is either
/// floating or holds token ids (i32 or i64). The model must give the same bits each time: a model with
/// dropout must make its Generator anew in each call.
using SequenceModel = std::function<Tensor(const Tensor& x)>;

struct IsolationOptions {
  static constexpr int no_axis = -1;

  /// The axis of the positions in x: 1 for [B, T, C], 2 for heads [B, H, T, D], 0 for time-major [T, B, C].
  int time_axis = 1;
  /// The axis of the samples in x; no_axis: x is one sample.
  int batch_axis = 0;
  /// The same axes in y, where they differ from those of x.
  std::optional<int> output_time_axis = {};
  std::optional<int> output_batch_axis = {};
  /// At most this many questions are asked in each way, evenly spread. If not given, the derivative is
  /// asked all questions; the other ways are asked all if there are at most 256, and otherwise 64.
  std::optional<std::int64_t> max_questions = {};
  std::uint64_t seed = 1;
  /// Whether a place that is read with weight zero, so that NaN or infinities spread from it, is a failure;
  /// otherwise it is a warning.
  bool poison_proof = false;
  /// Tokens are replaced by any token below this; 0: by tokens up to the largest one of x.
  std::int64_t vocab_size = 0;
};

/// Three independent ways to ask whether one part of x reaches another part of y.
enum class IsolationWay {
  planted_nan,  ///< NaN in the forbidden part of x leaves the other part of y as it is, bit by bit
  gradient,     ///< the vector-Jacobian product of the other part of y is exactly zero in the forbidden one
  replacement,  ///< random values in the forbidden part of x, as large as x and a thousand times as large,
                ///< leave the other part of y as it is, bit by bit
};
std::string_view name_of(IsolationWay way);

/// What all ways together found, from harmless to severe.
enum class IsolationFinding {
  nothing,      ///< no dependence
  weight_zero,  ///< only NaN or infinity gets through: the place is read, with weight zero
  value,        ///< a finite replacement changes y, although the derivative is zero
  derivative,   ///< the derivative is not zero
};
std::string_view name_of(IsolationFinding finding);

struct SequencePlace {
  std::int64_t sample = 0;
  std::int64_t position = 0;
};

/// What one way found.
struct IsolationEvidence {
  std::int64_t asked = 0;
  std::int64_t leaks = 0;      ///< questions in which the forbidden part reached y
  std::string not_asked = {};  ///< why this way was not used
};

struct IsolationResult {
  std::string check = {};
  bool passed = true;
  std::string problem = {};   ///< why nothing could be proven, such as two calls that differ
  std::string question = {};  ///< what was asked, in words
  std::int64_t possible = 0;  ///< number of possible questions
  std::array<IsolationEvidence, 3> evidence = {};  ///< by IsolationWay
  IsolationFinding finding = IsolationFinding::nothing;
  // Where something was found:
  SequencePlace from = {};  ///< this place of x …
  SequencePlace to = {};    ///< … reaches this place of y.
  /// The first operation on the tape that carries it there. If the tape does not show the leak, as with
  /// detach: the first operation whose result depends on that place of x. Empty if there is none.
  std::string op = {};
  std::string scope = {};  ///< the module it ran in
  // Of check_padding:
  std::int64_t dead_rows = 0;  ///< rows within their length that depend on nothing
  SequencePlace dead = {};     ///< the first of them
  std::string dead_op = {};    ///< the attention whose query it is, if it is not a row of y
  std::string dead_scope = {};

  const IsolationEvidence& by(IsolationWay way) const { return evidence[static_cast<std::size_t>(way)]; }
  /// Passed, but some place is read with weight zero.
  bool warned() const { return passed && finding == IsolationFinding::weight_zero; }
  /// One sentence, then one line for each way, and the operation.
  std::string report() const;
  std::string to_json() const;
};

// Each check plants NaN, takes the vector-Jacobian product, and replaces values at random. It passes if all
// ways pass. Token ids cannot be NaN. The derivative by token ids is taken by the rows that they alone
// determine, such as rows of an embedding; which row belongs to which token is found by changing tokens, so
// any layout inside the model is supported. Parameters are read and get no gradients.
// Throws (all)  ShapeError (x lacks one of its axes; y has other samples or positions), DTypeError (x
//               boolean), ValueError (max_questions < 1; equal axes; nothing that could leak, such as one
//               sample in check_batch_isolation).

/// No output at a position depends on a later position. One question for each cut between two positions.
IsolationResult check_causal(const SequenceModel& model, const Tensor& x,
                             const IsolationOptions& options = {});

/// No sample depends on another one. One question for each sample.
IsolationResult check_batch_isolation(const SequenceModel& model, const Tensor& x,
                                      const IsolationOptions& options = {});

/// No output within the length of its sample depends on positions after that length, and each depends on
/// something; lengths i64 [B], which the model must know as well. A row depends on nothing if it keeps its
/// bits whatever stands within the length, and it is zero or the same row of another sample does change.
/// The same holds for a query of `attention` that belongs to a token within its length and gets zeros.
IsolationResult check_padding(const SequenceModel& model, const Tensor& x, const Tensor& lengths,
                              const IsolationOptions& options = {});

/// No output depends on another document; ids i64 [T] or [B, T], which the model must know as well. One
/// question for each document.
IsolationResult check_documents(const SequenceModel& model, const Tensor& x, const Tensor& ids,
                                const IsolationOptions& options = {});

}  // namespace heed::check
