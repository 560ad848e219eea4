#pragma once

#include <cstdint>
#include <vector>

#include <heed/check/isolation.h>

namespace heed::check {

/// Which axes of a tensor count the samples and the positions; no_axis: one sample.
struct SequenceAxes {
  int batch = 0;
  int time = 1;
};

/// One flag a place.
using Places = std::vector<bool>;

/// Samples and positions of a batch of sequences. A place is one position of one sample; they are numbered
/// sample by sample.
struct SequenceGrid {
  std::int64_t samples = 0;
  std::int64_t positions = 0;

  std::int64_t size() const { return samples * positions; }
  SequencePlace place(std::int64_t number) const { return {number / positions, number % positions}; }
  std::int64_t number(SequencePlace place) const { return place.sample * positions + place.position; }
  Places none() const { return Places(static_cast<std::size_t>(size()), false); }
  Places all() const { return Places(static_cast<std::size_t>(size()), true); }
  Places only(SequencePlace place) const;
  /// The place of an element of a tensor, by its row-major number.
  std::int64_t place_of(const Shape& shape, const SequenceAxes& axes, std::int64_t element) const;
  /// Boolean, true at the places; broadcasts to `shape`.
  Tensor mask_of(const Places& places, const Shape& shape, const SequenceAxes& axes) const;
};

/// What of x may not reach what of y.
struct IsolationQuestion {
  std::uint64_t number = 0;  ///< random replacements follow from it
  Places forbidden;
  Places kept;
  bool mutual = false;  ///< the kept places may not reach the forbidden ones either
};

/// Number of the first place that is set; 0 where none is.
std::int64_t first_of(const Places& places);

}  // namespace heed::check
