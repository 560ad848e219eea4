#pragma once

#include <heed/nn/module.h>

namespace heed::optim {

struct ClipOptions {
  /// Return a norm that is not finite, leaving the gradients alone, instead of throwing.
  bool allow_nonfinite = false;
};

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), where norm is the 2-norm over all of them
/// together, and returns norm. Squares are summed in double, and scaled by a power of two where one would not
/// fit. A parameter that appears twice counts once, one without a gradient not at all.
/// Throws    ValueError (max_norm not above 0), GradError naming the first parameter whose gradient is not
///           finite, or with which the norm exceeds the largest number.
double clip_grad_norm(const nn::NamedTensors& parameters, double max_norm, const ClipOptions& options = {});

}  // namespace heed::optim
