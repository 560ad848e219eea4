#pragma once

#include <heed/core/tensor.h>

namespace heed::nn {

/// The function between two linear layers; gelu is exact, gelu_tanh GPT-2's form of it.
enum class Activation { relu, gelu, gelu_tanh, silu };

/// y = activation(x), any shape.   Throws    DTypeError.
Tensor activate(const Tensor& x, Activation activation);

}  // namespace heed::nn
