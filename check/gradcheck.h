#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::check {

/// A function under test: tensors in, tensors out. It must be deterministic.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct GradcheckOptions {
  /// Step of the central difference, relative to max(1, |x|). 1e-6 balances truncation (h²) and rounding (ε/h) in f64.
  double step = 1e-6;
  /// An element passes if |analytic − numeric| <= atol + rtol · max(|analytic|, |numeric|).
  double rtol = 1e-6;
  double atol = 1e-8;
  /// Check at most this many elements of each input, chosen by `seed`; 0 means all.
  std::int64_t max_elements = 0;
  /// Seed of the cotangents, drawn from the standard normal distribution.
  std::uint64_t seed = 1;
};

/// One compared element.
struct GradcheckElement {
  std::size_t input = 0;
  std::int64_t index = 0;  ///< row-major number within the input
  double analytic = 0;
  double numeric = 0;
  double error = 0;  ///< |analytic − numeric| divided by its bound: > 1 fails
};

struct GradcheckResult {
  bool passed = true;
  std::int64_t checked = 0;
  GradcheckElement worst;
  /// Failing elements, worst first, at most 20.
  std::vector<GradcheckElement> failures;
  /// One sentence, or a table when it failed: input, index, analytic, numeric, error over bound.
  std::string report() const;
};

/// Compares the gradients of Σ ⟨u, f(x)⟩, u random normal (1 for a result of one element), with central differences
///   (F(x + h e) − F(x − h e)) / 2h.
/// Inputs that do not require grad are held fixed; the others must be f64. Results without history are left out.
/// Throws DTypeError (an input that requires grad is not f64), GradError (no input requires grad).
GradcheckResult gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// `gradcheck` of the gradient itself, with random cotangents at both orders.
GradcheckResult gradgradcheck(const Function& function, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace heed::check
