// The part of heed below core: it needs the standard library alone.
// It computes a derivative as the limit of difference quotients, extrapolated to a step of zero. With the
// value comes an error bar, which says how far the value may be from the true one.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace heed::numeric {

/// A number and its error bar: the true value should lie within value ± bar.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double bar = std::numeric_limits<double>::infinity();
};

/// Richardson's tableau for the limit d(0) = lim d(h), fed with d(h), d(h/2), d(h/4), …
/// In column j the j lowest powers of h are cancelled from the error. The error bar of an entry is its
/// distance from its neighbours (the truncation error, estimated as Ridders does) plus the rounding error
/// that it carries. The entry with the smallest bar is kept. A value that is not finite, such as one
/// outside the domain of the function, empties the tableau.
class Tableau {
 public:
  /// `factor`: 4 where the error is a series in h² (central differences), 2 where it is a series in
  /// h (one-sided differences).
  explicit Tableau(double factor) : factor_(factor) {}
  /// Adds d(h) at half of the previous step; `noise` bounds the rounding error of d.
  void add(long double d, double noise);
  /// Its bar is infinite until three finite values were added.
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

/// The values f(x + above) and f(x − below). The offsets are positive, and exact: the distances that are left
/// after x ± h was rounded.
struct Pair {
  double above = 0;
  double below = 0;
  long double f_above = 0;
  long double f_below = 0;
};

/// The derivative at a point, estimated from both sides together and from each side alone.
struct Derivative {
  Estimate central;
  Estimate left;
  Estimate right;
  /// Whether the one-sided derivatives differ by more than twice their bars: the point is then at a kink.
  bool kink() const;
};

/// When to stop halving the step: when the bar of the central difference is at most atol + rtol · |value|,
/// when rounding allows no smaller bar, or after `most_rows` steps.
struct DifferenceOptions {
  double first_step = 0.125;
  double rtol = 0;
  double atol = 0;
  int least_rows = 3;  ///< steps taken at least; 12 where the sides differ
  int most_rows = 44;
};

/// The three tableaus (central, left, right) of one function of one variable.
class Differences {
 public:
  /// `center` = f(x); `noise` bounds the rounding error of every value of f.
  Differences(long double center, double noise, const DifferenceOptions& options = {})
      : center_(center), noise_(noise), options_(options) {}
  /// Adds the values at half of the previous step.
  void add(const Pair& pair);
  Derivative result() const { return {central_.best(), left_.best(), right_.best()}; }
  /// Whether the derivative is good enough, or smaller steps cannot improve it.
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

/// The derivative of a function of one variable from its values alone, without a step size to choose.
/// `pair(h)` evaluates the function h above and h below the point. Ends when the step is so small that
/// rounding makes an offset 0.
Derivative differentiate(long double center, double noise, const std::function<Pair(double)>& pair,
                         const DifferenceOptions& options = {});

/// The rounding noise (one standard deviation) in values of a smooth function at equally spaced, very near
/// points: differences of high order cancel the function and leave the noise (Hamming; Moré and Wild 2011).
/// Needs at least 6 values.
double rounding_noise(std::span<const long double> values);

}  // namespace heed::numeric
