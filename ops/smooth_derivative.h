#pragma once

#include <heed/core/tensor.h>

namespace heed::detail {

/// Smooth functions whose derivatives are evaluated as formulas of their own, not by the chain rule, which
/// loses their tails: 1 − tanh² x is 0 long before the slope of tanh is.
enum class Smooth { sigmoid, tanh, erf, silu, gelu, gelu_tanh, mish, rsqrt, asin, atan };

/// f(x), not recorded. Like the derivatives, f32 is computed in double and f64 in long double; both are
/// rounded only once.
Tensor smooth_value(Smooth f, const Tensor& x);

/// f'(x), f''(x) or f'''(x) for order 1 to 3, recorded, so it can be differentiated again.
/// At ±∞ the first two are the limits.
Tensor smooth_derivative(Smooth f, int order, const Tensor& x);

/// Records y = f(x): dx = dy f'(x). Saves x. In f32 a kernel computes f' if there is one.
void record_smooth(const char* op, Smooth f, const Tensor& x, Tensor& y);

}  // namespace heed::detail
