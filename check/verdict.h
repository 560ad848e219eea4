#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <heed/core/shape.h>
#include <heed/numeric/extrapolation.h>

namespace heed::check {

/// The outcome of a comparison, from best to worst; the first two pass.
enum class Verdict {
  agrees,            ///< the analytic value is within the bar
  kink,              ///< the one-sided derivatives differ, and the analytic value is between them
  unresolved,        ///< it is within the bar, but the bar is too wide to prove anything
  differs,           ///< it is outside the bar or, at a kink, outside [left, right]
  nonfinite,         ///< a NaN or an infinity, in the analytic value or on a side of the point
  nondeterministic,  ///< two evaluations at one point differ
};
std::string_view name_of(Verdict verdict);

/// One compared element.
struct GradcheckElement {
  std::size_t tensor = 0;  ///< index of the input; for jvp_check, of the output
  std::int64_t index = 0;  ///< row-major index within that tensor
  Shape position = {};     ///< the same as one index for each axis
  double analytic = 0;
  double numeric = 0;
  double bar = 0;   ///< error bar of `numeric`
  double left = 0;  ///< derivatives from the left and the right, where the element is at a kink
  double right = 0;
  bool kink = false;
  double error = 0;  ///< |analytic − numeric| over its bound; above 1 fails
  Verdict verdict = Verdict::agrees;
  /// The verdict in words, such as `kink: within [0, 1.5]`.
  std::string text() const;
};

/// The bound of an element is bar + atol + rtol · max(|analytic|, |numeric|) + rounding. A bar wider than
/// floor + atol + resolution · max(|analytic|, |numeric|, largest) proves nothing.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
  double rounding = 0;  ///< of the analytic value
  double resolution = 0;
  double floor = 0;
  double largest = 0;  ///< the largest |analytic| of all elements
};

/// Sets numeric, bar, left, right, error and verdict of an element from its analytic value.
void judge(GradcheckElement& element, const numeric::Derivative& derivative, const Tolerance& tolerance);

}  // namespace heed::check
