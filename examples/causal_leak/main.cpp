// What happens to a language model whose causal mask was forgotten, and how to find out before it
// costs a week.
//
//   causal_leak [folder]    trains the same small model with and without its mask, prints losses, text and
//                           the proof, and writes causal_leak.svg into the folder. Exit status 1 if
//                           check_causal is wrong about either.

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

#include "../chart/chart.h"

using namespace heed;

namespace {

constexpr std::int64_t context = 32;
constexpr int steps = 400;

// 1. The model as CausalLM computes it, but the mask is ours to forget.
Tensor logits(const nn::CausalLM& model, const Tensor& tokens, const AttentionMask& mask) {
  Tensor x = model.token(tokens) + (*model.position)(arange(0, tokens.size(-1)));
  for (const nn::TransformerBlock& block : model.blocks) x = block(x, mask);
  return linear(model.norm(x), model.token.weight);
}

// 2. A text whose entropy is known: no honest model has a lower loss, on average, than the floor.
struct Text {
  text::TextSource source = text::tale_source();
  std::string characters = source.generate(300'000, 1);
  text::CharTokenizer tokenizer{characters};
  std::vector<std::int64_t> tokens = tokenizer.encode(characters);
  double floor = source.entropy_floor(context);
};

// 3. The same training for both: same text, same start, same steps.
struct Run {
  std::string name;
  AttentionMask mask;
  nn::CausalLM model;
  std::vector<double> losses = {};
};

Run train_run(const Text& text, std::string name, const AttentionMask& mask) {
  Generator random(1);
  Run run{std::move(name), mask,
          nn::CausalLM({.vocab_size = text.tokenizer.vocab_size(),
                        .context = context,
                        .num_layers = 2,
                        .num_heads = 4,
                        .embed_dim = 64},
                       random)};
  optim::AdamW optimizer(run.model.named_parameters(), {.lr = 3e-3});
  const text::WindowLoader windows(text.tokens, {.context = context, .batch = 32}, random);
  for (int step = 0; step < steps; ++step) {
    const text::Batch batch = windows.batch(step);
    const Tensor scores = reshape(logits(run.model, batch.inputs, mask), {batch.inputs.numel(), -1});
    const Tensor loss = cross_entropy(scores, reshape(batch.targets, {batch.targets.numel()}));
    backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    run.losses.push_back(loss.item<float>());
  }
  return run;
}

// 4. What each of them writes: token by token, the last `context` of them in view.
std::string write_text(const Run& run, const Text& text, const std::string& prompt) {
  const NoGrad guard;
  Generator random(2);
  std::vector<std::int64_t> tokens = text.tokenizer.encode(prompt);
  for (int i = 0; i < 160; ++i) {
    const auto seen = std::min<std::size_t>(tokens.size(), context);
    const std::span<const std::int64_t> window(tokens.end() - static_cast<std::ptrdiff_t>(seen),
                                               tokens.end());
    const Tensor scores = logits(run.model, from_span(window, {static_cast<std::int64_t>(seen)}), run.mask);
    tokens.push_back(lm::sample_token(select(scores, 0, -1), {.temperature = 0.7}, random));
  }
  std::string written = text.tokenizer.decode(tokens);
  std::replace(written.begin(), written.end(), '\n', ' ');
  return written;
}

// 5. The losses, beside what no honest model can reach.
void show_losses(const std::vector<Run>& runs, const Text& text, const std::filesystem::path& folder) {
  fmt::print("{:>5} {:>12} {:>15} {:>8}   (nats a character)\n", "step", runs[0].name, runs[1].name, "floor");
  for (int step = 0; step <= steps; step += 50) {
    const auto at = static_cast<std::size_t>(std::min(step, steps - 1));
    fmt::print("{:>5} {:>12.3f} {:>15.3f} {:>8.3f}\n", at, runs[0].losses[at], runs[1].losses[at],
               text.floor);
  }
  chart::write(folder / "causal_leak.svg",
               {.title = "Training loss of one model, with and without its causal mask",
                .x_title = "step",
                .y_title = "nats a character",
                .series = {{runs[0].name, 0, chart::by_step(runs[0].losses)},
                           {runs[1].name, 1, chart::by_step(runs[1].losses)},
                           {"entropy of the text", 2, {{0, text.floor}, {steps, text.floor}}, true}}});
}

// 6. The proof. It needs neither training nor a known floor.
bool prove(const Run& run, const Text& text) {
  const std::span<const std::int64_t> sample(text.tokens.data(), 2 * 16);
  const auto result = check::check_causal(
      [&](const Tensor& tokens) { return logits(run.model, tokens, run.mask); }, from_span(sample, {2, 16}));
  fmt::print("\n{}: {}\n", run.name, result.report());
  return result.passed;
}

int run_example(const std::filesystem::path& folder) {
  fmt::print("two models learn, one with and one without its mask: about a minute\n");
  const Text text;
  std::vector<Run> runs;
  runs.push_back(train_run(text, "with mask", AttentionMask::causal()));
  runs.push_back(train_run(text, "without mask", {}));
  show_losses(runs, text, folder);

  fmt::print(
      "\nA loss below the floor is no success: the model reads the next character instead of predicting it.\n"
      "When it writes, there is no next character to read:\n");
  for (const Run& run : runs) fmt::print("\n{}: {}\n", run.name, write_text(run, text, "some brave owls "));

  fmt::print("\ncheck_causal needs no training and no known floor:\n");
  const bool with = prove(runs[0], text);
  const bool without = prove(runs[1], text);
  return with && !without ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run_example(chart::figure_folder(count, arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "causal_leak: {}\n", error.what());
    return 1;
  }
}
