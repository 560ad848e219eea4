#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/grad_mode.h>
#include <heed/nn/eval_mode.h>
#include <heed/train/evaluate.h>

namespace heed::train {

namespace {

template <class Sequence>
double mean_over(nn::CausalLM& model, const Sequence& batches, const distributed::World* world) {
  const nn::EvalMode mode(model);
  const NoGrad guard;
  double total = 0;
  std::int64_t tokens = 0;
  const Share share = world != nullptr ? world->share() : Share{};
  const std::int64_t first = share.first(batches.batches());
  for (std::int64_t i = 0; i < share.count(batches.batches()); ++i) {
    const text::Batch batch = batches.batch(first + i);
    const std::int64_t counted = text::counted_tokens(batch);
    total += scalar_of(batch_loss(model, batch)) * static_cast<double>(counted);
    tokens += counted;
  }
  if (world != nullptr) {
    total = world->sum(total);
    tokens = world->sum(tokens);
  }
  check_value(tokens > 0, "mean_loss", "number of targets", tokens, "at least 1");
  return total / static_cast<double>(tokens);
}

}  // namespace

Tensor batch_loss(const nn::CausalLM& model, const text::Batch& batch, Generator* generator) {
  if (!batch.documents.defined()) return model.loss(batch.inputs, batch.targets, generator);
  return model.loss(batch.inputs, batch.targets, batch.documents, generator);
}

double mean_loss(nn::CausalLM& model, const text::WindowSequence& windows, const distributed::World* world) {
  return mean_over(model, windows, world);
}

double mean_loss(nn::CausalLM& model, const text::PackedSequence& rows, const distributed::World* world) {
  return mean_over(model, rows, world);
}

}  // namespace heed::train
