#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/gradcheck.h>

namespace heed::check {

struct JvpCheckOptions {
  /// As in GradcheckOptions, with the same defaults.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  /// The number of directions tried. Each is random normal over all inputs that require grad.
  std::int64_t directions = 1;
  std::uint64_t seed = 1;
};

/// Compares every element of the Jacobian-vector product J v, v random, with the difference quotient (f(x +
/// h v) − f(x − h v)) / 2h along v, extrapolated with an error bar. About a dozen evaluations check all
/// outputs along one direction, however many inputs there are. Elements are numbered by output. Outputs
/// without history are left out.
/// J v is computed by differentiating the vector-Jacobian product with respect to its cotangent. The check
/// therefore covers the values of the vector-Jacobian product and its dependence on the cotangent; it does
/// not use a second set of derivative rules.
/// Throws    as `gradcheck`.
GradcheckResult jvp_check(const Function& function, const TensorList& inputs,
                          const JvpCheckOptions& options = {});

}  // namespace heed::check
