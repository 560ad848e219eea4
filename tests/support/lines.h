#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "op_case.h"

namespace heed::test {

using Line = std::vector<double>;

/// Reference of an operation that maps each line along `axis` of its first operand to a line, perhaps of
/// another length; an axis that becomes of size 1 is left out with `drop`.
inline Reference along(int axis, std::function<Line(const Line&)> f, bool drop = false) {
  return [axis, drop, f = std::move(f)](const std::vector<Array>& in) {
    const Shape& shape = in[0].shape;
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (int k = 0; k < axis; ++k) outer *= shape[k];
    for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape[k];
    const std::int64_t n = shape[axis];
    const auto m = static_cast<std::int64_t>(f(Line(static_cast<std::size_t>(n), 1.0)).size());
    Array y{shape, Line(static_cast<std::size_t>(outer * m * inner))};
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        Line line;
        for (std::int64_t j = 0; j < n; ++j) {
          line.push_back(in[0].values[static_cast<std::size_t>((o * n + j) * inner + i)]);
        }
        const Line result = f(line);
        for (std::int64_t j = 0; j < m; ++j) {
          y.values[static_cast<std::size_t>((o * m + j) * inner + i)] = result[static_cast<std::size_t>(j)];
        }
      }
    }
    y.shape[axis] = m;
    if (drop) y.shape.erase(axis);
    return y;
  };
}

/// The same over all elements at once, to no axes.
inline Reference over_all(std::function<double(const Line&)> f) {
  return [f = std::move(f)](const std::vector<Array>& in) { return Array{{}, {f(in[0].values)}}; };
}

/// Row-major elements that are given.
inline Reference elements(Shape shape, Line values) {
  return [shape = std::move(shape), values = std::move(values)](const std::vector<Array>&) {
    return Array{shape, values};
  };
}

}  // namespace heed::test
