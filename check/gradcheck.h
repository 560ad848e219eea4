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
  /// Richardson extrapolation with an error bar for each element. False: one central difference of `step`, the fast form
  /// for large suites (two evaluations an element), for f64, without bars and without sight of kinks.
  bool extrapolate = true;
  /// Step of the fast form, relative to max(1, |x|). 1e-6 balances truncation (h²) and rounding (ε/h) in f64.
  double step = 1e-6;
  /// An element passes if |analytic − numeric| <= bar + atol + rtol · max(|analytic|, |numeric|) + 64 ε · largest |analytic|.
  /// Defaults: 1e-9 and 0 in f64, 1e-4 and 0 in f32; of the fast form 1e-6 and 1e-8.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  /// Check at most this many elements of each input, chosen by `seed`; 0 means all.
  std::int64_t max_elements = 0;
  /// Seed of the cotangents, drawn from the standard normal distribution.
  std::uint64_t seed = 1;
};

struct GradcheckResult {
  std::string check = "gradcheck";  ///< which oracle this is the result of
  bool passed = true;
  /// The gravest verdict of all.
  Verdict verdict = Verdict::agrees;
  /// Why nothing was compared, in words: two evaluations differ, or the function is not finite at the point.
  std::string problem;
  std::int64_t checked = 0;
  std::int64_t evaluations = 0;             ///< of the function
  std::array<std::int64_t, 6> counts = {};  ///< of elements by verdict
  /// Largest (|analytic − numeric| + bar) over the largest |analytic|, kinks left out: the gradient is proven to this.
  double proven = 0;
  GradcheckElement worst;
  /// Failing elements, worst first, and elements at kinks that passed; at most 20 each.
  std::vector<GradcheckElement> failures;
  std::vector<GradcheckElement> kinks;

  /// Counts an element in; `largest` is the size of the largest analytic value.
  void add(const GradcheckElement& element, double largest);
  /// Marks the check as failed as a whole.
  void refuse(Verdict reason, std::string problem_in_words);
  /// One sentence, then a table of what failed, of kinks, or of the worst element: position, analytic,
  /// numeric ± bar, error over bound, verdict.
  std::string report() const;
  /// The same as one JSON object; numbers that are not finite are strings.
  std::string to_json() const;
};

/// Compares the gradients of F(x) = Σ ⟨u, f(x)⟩, u random normal (1 for a result of one element), with central
/// differences (F(x + h e) − F(x − h e)) / 2h, extrapolated to h = 0 with an error bar, so that no step needs choosing.
/// Where the one-sided differences disagree the element is at a kink, and the gradient must lie between them.
/// Inputs that do not require grad are held fixed. Results without history are left out.
/// In f32 the function runs in f32: bars grow with its rounding noise, which is measured.
/// Throws  DTypeError (an input that requires grad is not f32 or f64; f32 in the fast form), GradError (no input
/// requires grad).
GradcheckResult gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// `gradcheck` of the gradient itself, with random cotangents at both orders.
GradcheckResult gradgradcheck(const Function& function, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace heed::check
