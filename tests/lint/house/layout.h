#pragma once

#include <string>
#include <vector>

#include <heed/tests/lint/house/rooms.h>

namespace heed::lint::house {

/// A place in a layer: a room's, or one where an arrow to a lower layer goes by.
struct Place {
  /// The room's place in House::rooms; -1 where an arrow goes by.
  int room = -1;
  double width = 0;
  /// Of its centre.
  double x = 0;
  /// The places that its arrows lead to, in the layer below.
  std::vector<int> below = {};
};

struct Layout {
  std::vector<Place> places;
  /// Places from left to right; the first layer is the lowest.
  std::vector<std::vector<int>> layers;
};

/// A room lies one layer above the highest that it includes. Within layers rooms stand so that as few arrows
/// cross as may be, and near to those that they lead to. `widths` holds the width of each room. The arrows
/// must have no circle.
Layout layout_of(const House& house, const std::vector<double>& widths);

}  // namespace heed::lint::house
