#include <algorithm>

#include <heed/check/isolation_grid.h>
#include <heed/core/factory.h>

namespace heed::check {
namespace {

std::int64_t elements_behind(const Shape& shape, int axis) {
  std::int64_t behind = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) behind *= shape[a];
  return behind;
}

std::int64_t index_along(const Shape& shape, int axis, std::int64_t element) {
  return axis == IsolationOptions::no_axis ? 0 : element / elements_behind(shape, axis) % shape[axis];
}

}  // namespace

Places SequenceGrid::only(SequencePlace place) const {
  Places places = none();
  places[static_cast<std::size_t>(number(place))] = true;
  return places;
}

std::int64_t SequenceGrid::place_of(const Shape& shape, const SequenceAxes& axes,
                                    std::int64_t element) const {
  return number({index_along(shape, axes.batch, element), index_along(shape, axes.time, element)});
}

Tensor SequenceGrid::mask_of(const Places& places, const Shape& shape, const SequenceAxes& axes) const {
  Shape of_places = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis != axes.batch && axis != axes.time) of_places[axis] = 1;
  }
  Tensor mask = empty(of_places, DType::boolean);
  bool* m = mask.mutable_data<bool>();
  for (std::int64_t e = 0; e < mask.numel(); ++e) {
    m[e] = places[static_cast<std::size_t>(place_of(of_places, axes, e))];
  }
  return mask;
}

std::int64_t first_of(const Places& places) {
  const auto at = std::find(places.begin(), places.end(), true);
  return at == places.end() ? 0 : at - places.begin();
}

}  // namespace heed::check
