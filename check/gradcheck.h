#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/verdict.h>
#include <heed/core/tensor.h>

namespace heed::check {

struct GradcheckOptions {
  /// Extrapolates difference quotients and gives each element an error bar (Richardson). False: the fast
  /// form for large suites, one central difference of size `step` for each element (two evaluations). It
  /// needs f64, has no error bars and does not notice kinks.
  bool extrapolate = true;
  /// The step of the fast form, relative to max(1, |x|). 1e-6 balances truncation (h²) and rounding
  /// (ε/h) in f64.
  double step = 1e-6;
  /// An element passes if
  ///   |analytic − numeric| <= bar + atol + rtol · max(|analytic|, |numeric|) + 64 ε · largest |analytic|.
  /// rtol and atol default to 1e-9 and 0 in f64, to 1e-4 and 0 in f32, and to 1e-6 and 1e-8 in
  /// the fast form.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  /// Check at most this many elements of each input, chosen by `seed`; 0 means all.
  std::int64_t max_elements = 0;
  /// Seed of the cotangents, which are drawn from the standard normal distribution.
  std::uint64_t seed = 1;
};

struct GradcheckResult {
  std::string check = "gradcheck";  ///< the check that gave this result
  bool passed = true;
  /// The worst verdict of all elements.
  Verdict verdict = Verdict::agrees;
  /// Why nothing was compared, in words: two evaluations differ, or the function is not finite
  /// at the point.
  std::string problem;
  std::int64_t checked = 0;
  std::int64_t evaluations = 0;             ///< of the function
  std::array<std::int64_t, 6> counts = {};  ///< of elements by verdict
  /// The largest |analytic − numeric| + bar, divided by the largest |analytic|: the gradient is proven
  /// correct to this relative error. Elements at kinks are left out.
  double proven = 0;
  GradcheckElement worst;
  /// Failing elements, worst first, and elements at kinks that passed; at most 20 each.
  std::vector<GradcheckElement> failures;
  std::vector<GradcheckElement> kinks;

  /// Adds the result of one element; `largest` is the largest |analytic| of all elements.
  void add(const GradcheckElement& element, double largest);
  /// Marks the whole check as failed without comparing anything.
  void refuse(Verdict reason, std::string problem_in_words);
  /// One sentence, then a table of the failures, of the kinks, or of the worst element: position, analytic,
  /// numeric ± bar, error over bound, verdict.
  std::string report() const;
  /// The same as one JSON object; numbers that are not finite are strings.
  std::string to_json() const;
};

/// Compares the gradients of F(x) = Σ ⟨u, f(x)⟩ with central differences (F(x + h e) − F(x − h e)) / 2h,
/// which are extrapolated to h = 0 with an error bar, so that no step has to be chosen. The cotangents u
/// are random normal, or 1 for an output of one element.
/// Where the one-sided differences disagree, the element is at a kink, and the gradient must lie between
/// them. Inputs that do not require grad are held fixed. Outputs without history are left out. In f32 the
/// function runs in f32: the bars grow with its rounding noise, which is measured.
/// Throws    DTypeError (an input that requires grad is not f32 or f64; f32 in the fast form), GradError
///           (no input requires grad).
GradcheckResult gradcheck(const Function& function, const TensorList& inputs,
                          const GradcheckOptions& options = {});

/// `gradcheck` of the gradient itself, that is of second derivatives, with random cotangents
/// at both orders.
GradcheckResult gradgradcheck(const Function& function, const TensorList& inputs,
                              const GradcheckOptions& options = {});

}  // namespace heed::check
