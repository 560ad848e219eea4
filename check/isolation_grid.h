#pragma once

#include <cstdint>
#include <vector>

#include <heed/check/isolation.h>

namespace heed::check {

/// The axes of a tensor that count samples and positions; no_axis: one sample.
struct SequenceAxes {
  int batch = 0;
  int time = 1;
};

/// One flag for each place.
using Places = std::vector<bool>;

/// The samples and positions of a batch of sequences. A place is one position of one sample; places are
/// numbered sample by sample.
struct SequenceGrid {
  std::int64_t samples = 0;
  std::int64_t positions = 0;

  std::int64_t size() const { return samples * positions; }
  SequencePlace place(std::int64_t number) const { return {number / positions, number % positions}; }
  std::int64_t number(SequencePlace place) const { return place.sample * positions + place.position; }
  Places none() const { return Places(static_cast<std::size_t>(size()), false); }
  Places all() const { return Places(static_cast<std::size_t>(size()), true); }
  Places only(SequencePlace place) const;
  /// The number of the place of an element, from its row-major index in the tensor.
  std::int64_t place_of(const Shape& shape, const SequenceAxes& axes, std::int64_t element) const;
  /// A boolean tensor that is true at the places and broadcasts to `shape`.
  Tensor mask_of(const Places& places, const Shape& shape, const SequenceAxes& axes) const;
};

/// Which places of x may not reach which places of y.
struct IsolationQuestion {
  std::uint64_t number = 0;  ///< seeds the random replacements
  Places forbidden;
  Places kept;
  bool mutual = false;  ///< the kept places may not reach the forbidden ones either
};

/// The number of the first place that is set; 0 if none is.
std::int64_t first_of(const Places& places);

}  // namespace heed::check
