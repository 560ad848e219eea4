#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/verdict.h>

namespace heed::check {

struct TaylorOptions {
  std::uint64_t seed = 1;  ///< of the direction
};

struct TaylorRow {
  double step = 0;
  double remainder = 0;  ///< |f(x + h v) − f(x) − h J v|
  bool used = false;     ///< whether it is part of the fit
};

struct TaylorResult {
  bool passed = true;
  Verdict verdict = Verdict::agrees;
  std::string problem;  ///< why nothing was compared
  /// The fitted order of the remainder in h: 2.00 when J is right (more where the second derivative
  /// vanishes along v), 1.00 when it is wrong. Absent where the function is linear.
  std::optional<double> slope;
  /// The remainder is pure rounding error at all but a few steps: f is linear or piecewise linear along v,
  /// and J is right.
  bool linear = false;
  std::vector<TaylorRow> rows;  ///< from the largest step down
  /// One sentence and the table of rows.
  std::string report() const;
  std::string to_json() const;
};

/// Fits the order of the Taylor remainder |f(x + h v) − f(x) − h J v| ~ h^slope over the smallest steps
/// whose remainder is well above rounding error. Passes at a slope of 1.9 or more: a wrong J gives 1 and a
/// right one 2, so there is no tolerance to choose. Works in f32 and f64. Relative errors of J below about
/// 1e-7 (f64) or 1e-3 (f32) are not noticed.
/// Throws    as `gradcheck`.
TaylorResult taylor_check(const Function& function, const TensorList& inputs,
                          const TaylorOptions& options = {});

}  // namespace heed::check
