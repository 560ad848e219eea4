#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace heed::numeric {

/// A number and how far it may be off.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double bar = std::numeric_limits<double>::infinity();
};

/// Richardson's tableau for a limit d(0) = lim d(h), fed with d(h), d(h/2), d(h/4), …: column j has the j lowest
/// powers of the error cancelled. Each entry is judged by what it changed (truncation, as Ridders does) plus the rounding
/// it carries; the best one is kept. A value that is not finite, such as one outside the function's domain, starts it anew.
class Tableau {
 public:
  /// `factor`: 4 where the error is a series in h² (central differences), 2 where it is one in h (one-sided).
  explicit Tableau(double factor) : factor_(factor) {}
  /// Adds d at half of the step before; `noise` bounds its rounding error.
  void add(long double d, double noise);
  /// Infinitely wide before the third finite value.
  const Estimate& best() const { return best_; }

 private:
  struct Entry {
    long double value = 0;
    double noise = 0;
  };
  double factor_;
  std::vector<Entry> row_;
  Estimate best_;
};

/// Values at x + above and x − below, the positive offsets as they are after rounding.
struct Pair {
  double above = 0;
  double below = 0;
  long double f_above = 0;
  long double f_below = 0;
};

/// The derivative at a point from both sides together and from each side alone.
struct Derivative {
  Estimate central;
  Estimate left;
  Estimate right;
  /// The sides differ by more than twice their bars.
  bool kink() const;
};

/// When to stop making steps smaller: at a bar of atol + rtol · |value| on the central difference, when rounding
/// forbids more, or after `most_rows` steps.
struct DifferenceOptions {
  double first_step = 0.125;
  double rtol = 0;
  double atol = 0;
  int least_rows = 3;  ///< 12 where the sides differ
  int most_rows = 44;
};

/// The tableaus of one function of one variable.
class Differences {
 public:
  /// `center` = f(x); `noise` bounds the rounding error of every value of f.
  Differences(long double center, double noise, const DifferenceOptions& options = {})
      : center_(center), noise_(noise), options_(options) {}
  /// Values at half of the step before.
  void add(const Pair& pair);
  Derivative result() const { return {central_.best(), left_.best(), right_.best()}; }
  /// Whether smaller steps are not wanted or cannot help.
  bool settled() const;

 private:
  long double center_;
  double noise_;
  DifferenceOptions options_;
  double step_ = 0;
  int rows_ = 0;
  Tableau central_{4};
  Tableau left_{2};
  Tableau right_{2};
};

/// Derivative of a function of one variable from its values alone; no step needs choosing. `pair(h)` evaluates it h above
/// and below the point. Stops at a step that rounding swallows (an offset of 0).
Derivative differentiate(long double center, double noise, const std::function<Pair(double)>& pair,
                         const DifferenceOptions& options = {});

/// Size of the rounding noise (one standard deviation) in values of a smooth function at equally spaced, very near
/// points: high differences cancel the function and leave the noise (Hamming; Moré and Wild 2011). At least 6 values.
double rounding_noise(std::span<const long double> values);

}  // namespace heed::numeric
