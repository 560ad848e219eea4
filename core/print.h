#pragma once

#include <iosfwd>
#include <string>

#include <heed/core/tensor.h>

namespace heed {

/// Values in nested brackets with dtype and shape, such as `f32[2, 2] [[1, 2], [3, 4]]`; long axes are
/// shortened to their first and last `edge` entries.
std::string to_string(const Tensor& x, int edge = 3);
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace heed
