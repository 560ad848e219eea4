#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <heed/core/shape.h>

namespace heed::test {

/// A shape and, in row-major order, the place of each element in memory: what a view means.
struct IndexMap {
  Shape shape;
  std::vector<std::int64_t> places;
};

/// The multi-index of row-major element `i`.
inline std::vector<std::int64_t> unravel(std::int64_t i, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int k = shape.rank() - 1; k >= 0; --k) {
    index[static_cast<std::size_t>(k)] = i % shape[k];
    i /= shape[k];
  }
  return index;
}

inline std::int64_t ravel(const std::vector<std::int64_t>& index, const Shape& shape) {
  std::int64_t i = 0;
  for (int k = 0; k < shape.rank(); ++k) i = i * shape[k] + index[static_cast<std::size_t>(k)];
  return i;
}

/// The map whose element at a multi-index is that of `from` at source(multi-index).
template <class Source>
IndexMap gather(const IndexMap& from, const Shape& shape, Source&& source) {
  IndexMap result{shape, {}};
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::int64_t at = ravel(source(unravel(i, shape)), from.shape);
    result.places.push_back(from.places.at(static_cast<std::size_t>(at)));
  }
  return result;
}

/// `shape` expanded to `to`: places of the elements of a row-major tensor.
inline IndexMap broadcast_map(const Shape& shape, const Shape& to) {
  IndexMap from{shape, std::vector<std::int64_t>(static_cast<std::size_t>(element_count(shape)))};
  std::iota(from.places.begin(), from.places.end(), std::int64_t{0});
  return gather(from, to, [&](std::vector<std::int64_t> index) {
    index.erase(index.begin(), index.begin() + (to.rank() - shape.rank()));
    for (int k = 0; k < shape.rank(); ++k) index[static_cast<std::size_t>(k)] %= shape[k];
    return index;
  });
}

/// Python's slice.indices, element by element.
inline std::vector<std::int64_t> sliced(std::int64_t n, std::optional<std::int64_t> start,
                                        std::optional<std::int64_t> stop, std::int64_t step) {
  const auto place = [&](std::int64_t i) { return i < 0 ? i + n : i; };
  std::vector<std::int64_t> taken;
  if (step > 0) {
    const std::int64_t first = start ? std::max<std::int64_t>(place(*start), 0) : 0;
    for (std::int64_t i = first; i < n && (!stop || i < place(*stop)); i += step) taken.push_back(i);
  } else {
    const std::int64_t first = start ? std::min(place(*start), n - 1) : n - 1;
    for (std::int64_t i = first; i >= 0 && (!stop || i > place(*stop)); i += step) taken.push_back(i);
  }
  return taken;
}

}  // namespace heed::test
