#pragma once

#include <cmath>

#include "op_case.h"

namespace heed::test {

/// Operands x, weight, bias (the last two optional) over rows of n: straight from the definition.
inline Reference norm_reference(bool center, std::size_t n, double epsilon) {
  return [=](const std::vector<Array>& in) {
    Array y = in[0];
    for (std::size_t row = 0; row < y.values.size(); row += n) {
      double mean = 0;
      double variance = 0;
      if (center) {
        for (std::size_t i = 0; i < n; ++i) mean += in[0].values[row + i] / static_cast<double>(n);
      }
      for (std::size_t i = 0; i < n; ++i)
        variance += std::pow(in[0].values[row + i] - mean, 2) / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) {
        y.values[row + i] = (in[0].values[row + i] - mean) / std::sqrt(variance + epsilon) *
                                (in.size() > 1 ? in[1].values[i] : 1.0) +
                            (in.size() > 2 ? in[2].values[i] : 0.0);
      }
    }
    return y;
  };
}

}  // namespace heed::test
