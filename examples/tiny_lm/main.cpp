// All of it on one page: a language model learns a text of yours, character by character, and then writes.
//
//   tiny_lm FILE [STEPS]

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

using namespace heed;

namespace {

constexpr std::int64_t context = 64;  // characters that the model looks back on
constexpr std::int64_t rows = 16;     // windows of the text in each step

// How wrong is the model, which way is better, one step that way; and again.
void train(nn::CausalLM& model, const text::WindowLoader& windows, std::int64_t steps) {
  const nn::NamedTensors parameters = model.named_parameters();
  optim::AdamW optimizer(parameters, {.lr = 3e-3});
  double average = 0;  // of the losses of the last fifty steps or so
  for (std::int64_t step = 1; step <= steps; ++step) {
    const text::Batch batch = windows.batch(step);  // inputs and targets, [rows, context] each
    const Tensor logits = model(batch.inputs);      // [rows, context, vocabulary]
    const Tensor loss = cross_entropy(reshape(logits, {rows * context, -1}), reshape(batch.targets, {-1}));
    backward(loss);
    optim::clip_grad_norm(parameters, 1.0);
    optimizer.step();
    optimizer.zero_grad();

    average += (loss.item<float>() - average) / std::min<double>(static_cast<double>(step), 50);
    if (step * 10 / steps > (step - 1) * 10 / steps) fmt::print("step {:>5}   loss {:.3f}\n", step, average);
  }
}

void learn(const std::string& file, std::int64_t steps) {
  Generator random(1);  // the same seed, the same run

  // 1. The data. Each character becomes a number. The model sees a window of the text; what it should say is
  //    the same window one character later.
  const std::string characters = io::read_file(file);
  const text::CharTokenizer tokenizer(characters);
  const std::vector<std::int64_t> tokens = tokenizer.encode(characters);
  const text::WindowLoader windows(tokens, {.context = context, .batch = rows}, random);

  // 2. The model: two blocks of attention and a small network, on vectors of 64 numbers.
  const std::int64_t vocabulary = tokenizer.vocab_size();
  nn::CausalLM model(
      {.vocab_size = vocabulary, .context = context, .num_layers = 2, .num_heads = 4, .embed_dim = 64},
      random);
  fmt::print("{} characters, {} different ones; a model of {} parameters\n\n", tokens.size(), vocabulary,
             model.parameter_count());

  // 3. Training.
  train(model, windows, steps);

  // 4. A sample: the text's first character, and what the model writes after it.
  model.eval();
  const std::vector<std::int64_t> prompt = {tokens[0]};
  const auto written = lm::generate(model, prompt, 300, {.temperature = 0.8}, random);
  fmt::print("\n{}{}\n", tokenizer.decode(prompt), tokenizer.decode(written));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 2) throw ValueError("which text? tiny_lm FILE [STEPS]");
    learn(arguments[1], count > 2 ? std::stoll(arguments[2]) : 500);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tiny_lm: {}\n", error.what());
    return 1;
  }
}
