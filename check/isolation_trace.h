#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include <heed/check/isolation.h>
#include <heed/core/node.h>

namespace heed::check {

/// A result of a recorded operation.
struct TracedResult {
  Ref<Node> node;
  std::uint32_t output = 0;
  Tensor value;  ///< without history

  /// The same result with history, to differentiate by.
  Tensor handle() const;
};

/// One recorded run of a model. Checkpoints are expanded, so that the operations within them are included.
struct Trace {
  Tensor leaf;  ///< the x of the run, a leaf if it is floating
  Tensor y;
  std::vector<TracedResult> results;  ///< in the order of the tape

  /// The index of the result that an operation reads, −1 for a leaf or a constant.
  std::int64_t number_of(const Edge& edge) const;
  /// Whether y depends on each of the results.
  std::vector<bool> reaches_output() const;

  std::unordered_map<const Node*, std::int64_t> first_result;
};
Trace trace_of(const SequenceModel& model, const Tensor& x);

/// What another x changes in one result.
struct TracedChange {
  bool seen = false;           ///< the other run reached the same operation
  bool comparable = false;     ///< and its result has the same shape
  std::vector<bool> elements;  ///< whose bits differ, row-major
  bool any() const;
};
/// What another x changes in the results of a run. Stops after result `last`.
std::vector<TracedChange> changes_by(const SequenceModel& model, const Tensor& other, const Trace& trace,
                                     std::int64_t last = (std::numeric_limits<std::int64_t>::max)());

/// For each element, row-major, whether its bits differ; a and b have one shape and dtype.
std::vector<bool> differing(const Tensor& a, const Tensor& b);

}  // namespace heed::check
