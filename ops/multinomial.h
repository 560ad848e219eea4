#pragma once

#include <cstdint>

#include <heed/core/random.h>
#include <heed/core/tensor.h>

namespace heed {

/// Draws of positions j along the last axis with probability p_j / Σ p; without replacement each at most
/// once, the later ones from what is left.
/// Shapes    probabilities [.., C] → [.., count].        DTypes  f32, f64; the result i64.
/// Gradient  none: the result is an integer.             Order   –.        Saves     nothing.
/// Edge      the sum may be any positive number. A probability of 0 is never drawn.
/// Throws    ShapeError (no axes), DTypeError, ValueError (a probability that is negative, NaN or infinite; a
///           row of zeros alone; count < 0; without replacement, a count above the number of positive
///           probabilities in a row).
Tensor multinomial(const Tensor& probabilities, std::int64_t count, Generator& generator,
                   bool replacement = false);

}  // namespace heed
