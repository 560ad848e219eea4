#pragma once

#include <array>
#include <string>

#include <heed/core/tensor.h>

#include "rows.h"

namespace heed::test {

/// How derivatives are computed: by fused kernels where there are some, by operations because they are
/// recorded themselves (create_graph), or because nothing is fused.
enum class Form { fused, recorded, composite };

/// The worst error of a row, in units in the last place, by order: value, first and
/// second derivative. And where it is.
struct Worst {
  std::array<double, 3> ulps = {0, 0, 0};
  std::array<std::string, 3> where;

  void note(std::size_t order, double off, const std::string& place);
};

/// Walks a row through the whole range of a dtype. The second derivative of the fused form is
/// that of the recorded first one.
Worst walk(const UnaryRow& row, DType dtype, Form form);
Worst walk(const BinaryRow& row, DType dtype, Form form);

}  // namespace heed::test
