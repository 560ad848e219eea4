#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/gated_activation.h>
#include <heed/ops/slice.h>

namespace heed {
namespace {

struct Halves {
  Tensor first, second;
};

Halves halves_of(const char* op, const Tensor& x, std::int64_t axis) {
  check_floating(op, "x", x);
  check_rank(op, "x", x, 1);
  const int k = normalize_axis(op, axis, x.rank());
  if (x.size(k) % 2 != 0) {
    fail<ShapeError>(op, "axis does not halve", fmt::format("axis {} of {}", k, x.shape().str()),
                     "an even size");
  }
  const std::int64_t n = x.size(k) / 2;
  return {narrow(x, k, 0, n), narrow(x, k, n, n)};
}

}  // namespace

Tensor glu(const Tensor& x, std::int64_t axis) {
  const Halves halves = halves_of("glu", x, axis);
  return mul(halves.first, sigmoid(halves.second));
}

Tensor swiglu(const Tensor& x, std::int64_t axis) {
  const Halves halves = halves_of("swiglu", x, axis);
  return mul(silu(halves.first), halves.second);
}

}  // namespace heed
