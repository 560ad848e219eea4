#pragma once

#include <functional>
#include <vector>

#include <heed/core/tensor.h>

#include "terms.h"

namespace heed::test {

/// What the second operand of a loss is.
enum class Second { none, like_first, share, zero_or_one, distribution, log_distribution };

/// A norm or a loss of rows. Bounds are in units in the last place of the largest of result and terms.
struct RowCase {
  const char* op;
  const char* name;
  Second second;
  /// Operands [K, n] → [K, m], row by row.
  std::function<Tensor(const std::vector<Tensor>&)> function;
  /// The same of one row.
  std::function<Line(const std::vector<Line>&)> wanted;
  /// Whether there is a second derivative where an element is 0.
  bool smooth_at_zero = true;
  /// Of the composite form and of second derivatives.
  double composite_bound = 16;
};

std::vector<RowCase> norm_cases();
std::vector<RowCase> loss_cases();

}  // namespace heed::test
