#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// Which two channels are rotated together: (2k, 2k+1), or (k, k + rotary/2).
enum class RopeLayout { interleaved, half };

struct RopeOptions {
  RopeLayout layout = RopeLayout::half;
  double base = 10000;
  /// How many channels are rotated, counted from the first; 0 means all.
  std::int64_t rotary = 0;
};

/// Rotary position embedding: pair k at position p is rotated by the angle p · base^(−2k/rotary),
///   (a, b) → (a cos − b sin, a sin + b cos).  Angles are computed in double.
/// Shapes    x [.., L, D]; positions [L], or [B, L] for x [B, .., L, D] → shape of x.
/// DTypes    x f32, f64; positions i32, i64.
/// Gradient  dx = dy rotated by the opposite angles.       Order   any.
/// Saves     cosines and sines.
/// Throws    ShapeError, DTypeError, ValueError (rotary odd or more than D; base <= 0).
Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options = {});

}  // namespace heed
