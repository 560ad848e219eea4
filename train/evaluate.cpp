#include <heed/core/check.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/eval_mode.h>
#include <heed/train/evaluate.h>

namespace heed::train {

double mean_loss(nn::CausalLM& model, const WindowSequence& windows) {
  const nn::EvalMode mode(model);
  const NoGrad guard;
  double total = 0;
  std::int64_t tokens = 0;
  for (std::int64_t number = 0; number < windows.batches(); ++number) {
    const auto [inputs, targets] = windows.batch(number);
    total += scalar_of(model.loss(inputs, targets)) * static_cast<double>(inputs.numel());
    tokens += inputs.numel();
  }
  return total / static_cast<double>(tokens);
}

double scalar_of(const Tensor& x) {
  check_floating("scalar_of", "x", x);
  return x.dtype() == DType::f32 ? static_cast<double>(x.item<float>()) : x.item<double>();
}

}  // namespace heed::train
