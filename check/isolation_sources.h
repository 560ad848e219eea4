#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <heed/check/isolation_grid.h>
#include <heed/check/isolation_trace.h>

namespace heed::check {

/// Where gradients of a model begin: a leaf x, or for token ids a result that follows from them and from
/// nothing else on the tape, such as rows that an embedding looked up. Each element belongs to the places
/// whose change changes it.
struct IsolationSource {
  Tensor tensor;                     ///< with history
  std::vector<std::int32_t> owners;  ///< of each element, row-major: a number in `sets`, −1 for nobody
  std::vector<std::vector<std::int64_t>> sets{};  ///< numbers of places

  /// Of each set, whether one of its places is among these.
  std::vector<bool> meets(const Places& places) const;
};

/// x with other values in some places.
using Moved = std::function<Tensor(const Places& places)>;

IsolationSource source_of_leaf(const Trace& trace, const SequenceGrid& grid, const SequenceAxes& axes);

/// Sources of a model of tokens. Asks the model about 2 log2(places) times who owns what; as often as there
/// are places where an element belongs to several.
std::vector<IsolationSource> sources_of_tokens(const SequenceModel& model, const Trace& trace,
                                               const SequenceGrid& grid, const Moved& moved);

}  // namespace heed::check
