#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/gradcheck.h>

namespace heed::check {

struct JvpCheckOptions {
  /// As in GradcheckOptions; the defaults too.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  /// Directions tried, each random normal over all inputs that require grad.
  std::int64_t directions = 1;
  std::uint64_t seed = 1;
};

/// Compares every element of the Jacobian-vector product J v, v random, with the directional difference quotient
/// (f(x + h v) − f(x − h v)) / 2h, extrapolated with an error bar. A dozen evaluations prove a whole Jacobian in one
/// direction, whatever the number of inputs. Elements are numbered by output. Results without history are left out.
/// J v comes from the vjp differentiated in its cotangent, so this holds the vjp's dependence on the cotangent and
/// its values against the function at once; it is not a second set of rules.
/// Throws  as `gradcheck`.
GradcheckResult jvp_check(const Function& function, const std::vector<Tensor>& inputs,
                          const JvpCheckOptions& options = {});

}  // namespace heed::check
