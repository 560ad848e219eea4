#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <heed/core/shape.h>
#include <heed/numeric/extrapolation.h>

namespace heed::check {

/// What a comparison says, in order of weight; the first two pass.
enum class Verdict {
  agrees,             ///< the analytic value lies within the bar
  kink,               ///< left and right derivative differ, and the analytic value lies between them
  unresolved,         ///< it lies within the bar, but the bar is too wide to prove anything
  differs,            ///< it lies outside of the bar, or of [left, right] at a kink
  not_finite,         ///< a NaN or an infinity, analytic or on one side of the point
  non_deterministic,  ///< two evaluations at one point differ
};
std::string_view name_of(Verdict verdict);

/// One compared element.
struct GradcheckElement {
  std::size_t tensor = 0;  ///< number of the input; for jvp_check, of the output
  std::int64_t index = 0;  ///< row-major number within that tensor
  Shape position = {};     ///< the same as one index for each axis
  double analytic = 0;
  double numeric = 0;
  double bar = 0;   ///< how far `numeric` may be off
  double left = 0;  ///< derivative from the left and from the right, where the verdict is about a kink
  double right = 0;
  bool kink = false;
  double error = 0;  ///< |analytic − numeric| over its bound: > 1 fails
  Verdict verdict = Verdict::agrees;
  /// The verdict in words, such as `kink: within [0, 1.5]`.
  std::string text() const;
};

/// The bound of an element: bar + atol + rtol · max(|analytic|, |numeric|) + rounding. A bar wider than
/// floor + atol + resolution · max(|analytic|, |numeric|, largest) proves nothing.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
  double rounding = 0;  ///< of the analytic value
  double resolution = 0;
  double floor = 0;
  double largest = 0;  ///< size of the largest analytic value
};

/// Fills numeric, bar, sides, error and verdict of an element from its analytic value.
void judge(GradcheckElement& element, const numeric::Derivative& derivative, const Tolerance& tolerance);

}  // namespace heed::check
