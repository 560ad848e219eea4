#include "train_command.h"

#include <cstdio>

#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/parallel.h>
#include <heed/nn/causal_lm.h>
#include <heed/train/adamw.h>
#include <heed/train/clip.h>
#include <heed/train/evaluate.h>
#include <heed/train/model_gradcheck.h>
#include <heed/train/schedule.h>
#include <heed/train/window_loader.h>

#include "run_monitor.h"
#include "run_summary.h"
#include "text_data.h"

namespace tiny_lm {
namespace {

using namespace heed::train;
using heed::Generator;
using heed::Tensor;
using heed::nn::CausalLM;

constexpr std::int64_t kValidationBatch = 16;

bool gradients_are_right(const CausalLM& model) {
  const ModelGradcheckResult result = gradcheck_model(model);
  fmt::print("gradients {}\n", result.report);
  std::fflush(stdout);
  return result.passed;
}

}  // namespace

int train_model(const TrainOptions& o) {
  validate(o);
  if (o.threads > 0) heed::set_num_threads(o.threads);
  const TextData text = load_text(o);

  Generator random(static_cast<std::uint64_t>(o.seed));
  CausalLM model({.vocab_size = text.tokenizer->vocab_size(),
                  .context = o.context,
                  .num_layers = o.layers,
                  .num_heads = o.heads,
                  .embed_dim = o.embd,
                  .dropout = o.dropout,
                  .bias = o.bias},
                 random);
  const auto parameters = model.named_parameters();
  AdamW optimizer(parameters, {.lr = o.lr, .beta2 = 0.99, .weight_decay = o.weight_decay});
  optimizer.decay_matrices_only();
  const Schedule learning_rate =
      warmup_cosine({.lr = o.lr, .min_lr = o.min_lr, .warmup = o.warmup, .total = o.steps});
  const WindowLoader windows(text.training(), {.context = o.context, .batch = o.batch}, random);
  const WindowSequence validation(text.validation(), {.context = o.context, .batch = kValidationBatch});

  print_introduction(o, text, model);
  if (o.check && !gradients_are_right(model)) return 1;

  RunMonitor monitor(o);
  for (std::int64_t step = 0; step < o.steps; ++step) {
    monitor.begin_step();
    const auto [inputs, targets] = windows.batch(step);
    const Tensor loss = model.loss(inputs, targets, &random);
    heed::backward(loss);
    if (o.clip > 0) clip_grad_norm(parameters, o.clip);
    optimizer.set_lr(learning_rate(step));
    optimizer.step();
    optimizer.zero_grad();
    monitor.end_step(scalar_of(loss), learning_rate(step));

    const bool last = step + 1 == o.steps;
    if (last || (o.eval_every > 0 && (step + 1) % o.eval_every == 0)) {
      monitor.evaluate([&] { return mean_loss(model, validation); });
    }
  }
  finish_run(o, text, model, monitor);
  return 0;
}

}  // namespace tiny_lm
