#include <heed/core/check.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/eval_mode.h>
#include <heed/train/evaluate.h>

namespace heed::train {

namespace {

template <class Sequence>
double mean_over(nn::CausalLM& model, const Sequence& batches) {
  const nn::EvalMode mode(model);
  const NoGrad guard;
  double total = 0;
  std::int64_t tokens = 0;
  for (std::int64_t number = 0; number < batches.batches(); ++number) {
    const Batch batch = batches.batch(number);
    const std::int64_t counted = counted_tokens(batch);
    total += scalar_of(batch_loss(model, batch)) * static_cast<double>(counted);
    tokens += counted;
  }
  return total / static_cast<double>(tokens);
}

}  // namespace

Tensor batch_loss(const nn::CausalLM& model, const Batch& batch, Generator* generator) {
  if (!batch.documents.defined()) return model.loss(batch.inputs, batch.targets, generator);
  return model.loss(batch.inputs, batch.targets, batch.documents, generator);
}

double mean_loss(nn::CausalLM& model, const WindowSequence& windows) { return mean_over(model, windows); }

double mean_loss(nn::CausalLM& model, const PackedSequence& rows) { return mean_over(model, rows); }

double scalar_of(const Tensor& x) {
  check_floating("scalar_of", "x", x);
  return x.dtype() == DType::f32 ? static_cast<double>(x.item<float>()) : x.item<double>();
}

}  // namespace heed::train
