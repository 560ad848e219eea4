#include <span>

#include <heed/app/run/sample.h>
#include <heed/core/random.h>
#include <heed/lm/generate.h>
#include <heed/nn/eval_mode.h>

namespace heed::app {
namespace {

std::int64_t prompt_token(const TextData& data) {
  for (std::int64_t token = 0; token < data.tokenizer->vocab_size(); ++token) {
    if (data.tokenizer->decode(std::span(&token, 1)) == "\n") return token;
  }
  return data.first_token;
}

}  // namespace

std::string sample_prompt(const TextData& data) {
  const std::int64_t token = prompt_token(data);
  return data.tokenizer->decode(std::span(&token, 1));
}

std::string write_sample(heed::nn::CausalLM& model, const TextData& data, std::uint64_t seed,
                         std::int64_t tokens) {
  const heed::nn::EvalMode mode(model);
  heed::Generator generator(seed);
  const std::int64_t prompt = prompt_token(data);
  return data.tokenizer->decode(heed::lm::generate(model, std::span(&prompt, 1), tokens,
                                                   {.temperature = sample_temperature}, generator));
}

}  // namespace heed::app
