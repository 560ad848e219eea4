#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <heed/check/isolation_grid.h>
#include <heed/check/isolation_trace.h>

namespace heed::check {

/// A tensor by which the model is differentiated: a leaf x, or, for token ids, a result that depends on
/// them and on nothing else on the tape, such as the rows that an embedding looked up. Each element belongs
/// to the places whose change changes it.
struct IsolationSource {
  Tensor tensor;                     ///< with history
  std::vector<std::int32_t> owners;  ///< of each element, row-major: an index of `sets`, −1 for none
  std::vector<std::vector<std::int64_t>> sets{};  ///< numbers of places

  /// For each set, whether it has one of these places.
  std::vector<bool> meets(const Places& places) const;
};

/// Gives x with other values at some places.
using Moved = std::function<Tensor(const Places& places)>;

IsolationSource source_of_leaf(const Trace& trace, const SequenceGrid& grid, const SequenceAxes& axes);

/// The sources of a model of tokens. Runs the model about 2 log2(places) times to find which elements
/// belong to which place; as many times as there are places where an element belongs to several of them.
std::vector<IsolationSource> sources_of_tokens(const SequenceModel& model, const Trace& trace,
                                               const SequenceGrid& grid, const Moved& moved);

}  // namespace heed::check
