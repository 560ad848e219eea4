#include <heed/core/error.h>
#include <heed/nn/activation.h>
#include <heed/ops/activation.h>

namespace heed::nn {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu(x, Gelu::tanh);
    case Activation::silu:
      return silu(x);
  }
  fail<ValueError>("activate", "unknown activation");
}

}  // namespace heed::nn
