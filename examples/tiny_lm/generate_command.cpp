#include "generate_command.h"

#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/parallel.h>
#include <heed/train/generate.h>
#include <heed/train/language_model.h>

namespace tiny_lm {
namespace {

constexpr int kMostThreads = 256;

void validate(const GenerateOptions& o) {
  constexpr std::string_view op = "generate";
  heed::check_value(!o.prompt.empty(), op, "length of --prompt", std::int64_t{0}, "at least 1");
  heed::check_value(o.tokens >= 0, op, "--tokens", o.tokens, "0 or more");
  heed::check_value(o.temperature >= 0 && std::isfinite(o.temperature), op, "--temperature", o.temperature,
                    "0 or more");
  heed::check_value(o.top_k >= 0, op, "--top-k", o.top_k, "0 or more");
  heed::check_value(o.seed >= 0, op, "--seed", o.seed, "0 or more");
  heed::check_value(o.threads >= 0 && o.threads <= kMostThreads, op, "--threads", std::int64_t{o.threads},
                    fmt::format("0 to {}", kMostThreads));
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateOptions& o) {
  command.add_option("--model", o.model, "Folder that `tiny_lm train --out` wrote")->required();
  command.add_option("--prompt", o.prompt, "Text to go on from; a new line by default");
  command.add_option("--tokens", o.tokens, "Tokens to write")->capture_default_str();
  command
      .add_option("--temperature", o.temperature,
                  "Below 1 the likely becomes likelier; 0 always takes the likeliest token")
      ->capture_default_str();
  command.add_option("--top-k", o.top_k, "Choose among the k likeliest tokens; 0: among all")
      ->capture_default_str();
  command.add_option("--seed", o.seed, "The same seed writes the same text")->capture_default_str();
  command.add_option("--threads", o.threads, "Processor threads; 0 takes all there are")
      ->capture_default_str();
}

int generate_text(const GenerateOptions& o) {
  validate(o);
  if (o.threads > 0) heed::set_num_threads(o.threads);
  const heed::train::LanguageModel lm = heed::train::load_language_model(o.model);
  const std::vector<std::int64_t> prompt = lm.tokenizer->encode(o.prompt);
  heed::Generator generator(static_cast<std::uint64_t>(o.seed));
  fmt::print("{}", o.prompt);
  heed::train::generate(lm.model, prompt, o.tokens, {.temperature = o.temperature, .top_k = o.top_k},
                        generator, [&](std::int64_t token) {
                          fmt::print("{}", lm.tokenizer->decode({&token, 1}));
                          std::fflush(stdout);
                        });
  fmt::print("\n");
  return 0;
}

}  // namespace tiny_lm
