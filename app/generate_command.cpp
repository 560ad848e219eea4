#include "generate_command.h"

#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/parallel.h>
#include <heed/lm/generate.h>
#include <heed/lm/language_model.h>
#include <heed/text/text_stream.h>

namespace heed::app {
namespace {

constexpr int kMostThreads = 256;
constexpr std::int64_t kMostSamples = 1024;

void validate(const GenerateOptions& o) {
  constexpr std::string_view op = "generate";
  heed::check_value(!o.prompt.empty(), op, "length of --prompt", std::int64_t{0}, "at least 1");
  heed::check_value(o.tokens >= 0, op, "--tokens", o.tokens, "0 or more");
  const heed::lm::SamplingOptions& s = o.sampling;
  heed::check_value(s.temperature >= 0 && std::isfinite(s.temperature), op, "--temperature", s.temperature,
                    "0 or more");
  heed::check_value(s.top_k >= 0, op, "--top-k", s.top_k, "0 or more");
  heed::check_value(s.top_p >= 0 && s.top_p <= 1, op, "--top-p", s.top_p, "0 to 1");
  heed::check_value(s.min_p >= 0 && s.min_p <= 1, op, "--min-p", s.min_p, "0 to 1");
  heed::check_value(s.repetition_penalty > 0 && std::isfinite(s.repetition_penalty), op,
                    "--repetition-penalty", s.repetition_penalty, "above 0");
  for (const std::string& stop : o.stops) {
    heed::check_value(!stop.empty(), op, "length of --stop", std::int64_t{0}, "at least 1");
  }
  heed::check_value(o.samples >= 1 && o.samples <= kMostSamples, op, "--samples", o.samples,
                    fmt::format("1 to {}", kMostSamples));
  heed::check_value(o.seed >= 0, op, "--seed", o.seed, "0 or more");
  heed::check_value(o.threads >= 0 && o.threads <= kMostThreads, op, "--threads", std::int64_t{o.threads},
                    fmt::format("0 to {}", kMostThreads));
}

using Tokens = std::vector<std::int64_t>;
using heed::lm::LanguageModel;
using heed::text::TextStream;

void stream_one(const GenerateOptions& o, const LanguageModel& lm, const Tokens& prompt) {
  heed::Generator generator(static_cast<std::uint64_t>(o.seed));
  TextStream text(*lm.tokenizer, o.stops);
  const auto show = [](const std::string& part) {
    fmt::print("{}", part);
    std::fflush(stdout);
  };
  show(o.prompt);
  heed::lm::generate(lm.model, prompt, o.tokens, o.sampling, generator, [&](std::size_t, std::int64_t token) {
    show(text.push(token));
    return !text.stopped();
  });
  show(text.finish() + "\n");
}

void print_several(const GenerateOptions& o, const LanguageModel& lm, const Tokens& prompt) {
  heed::Generator generator(static_cast<std::uint64_t>(o.seed));
  const auto count = static_cast<std::size_t>(o.samples);
  std::vector<TextStream> streams(count, TextStream(*lm.tokenizer, o.stops));
  std::vector<std::string> texts(count, o.prompt);
  heed::lm::generate_batch(lm.model, std::vector<Tokens>(count, prompt), o.tokens, o.sampling, generator,
                           [&](std::size_t sample, std::int64_t token) {
                             texts[sample] += streams[sample].push(token);
                             return !streams[sample].stopped();
                           });
  for (std::size_t b = 0; b < count; ++b) fmt::print("---\n{}{}\n", texts[b], streams[b].finish());
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateOptions& o) {
  command
      .add_option("--model", o.model,
                  "Folder that `heed train --out` or import wrote, or that import would take")
      ->required();
  command.add_option("--prompt", o.prompt, "Text to go on from; a new line by default");
  command.add_option("--tokens", o.tokens, "Tokens to write")->capture_default_str();
  command
      .add_option("--temperature", o.sampling.temperature,
                  "Below 1 the likely becomes likelier; 0 always takes the likeliest token")
      ->capture_default_str();
  command.add_option("--top-k", o.sampling.top_k, "Choose among the k likeliest tokens; 0: among all")
      ->capture_default_str();
  command
      .add_option("--top-p", o.sampling.top_p,
                  "Choose among the likeliest tokens that together have this share")
      ->capture_default_str();
  command
      .add_option("--min-p", o.sampling.min_p, "Choose among tokens with this share of the likeliest one's")
      ->capture_default_str();
  command
      .add_option("--repetition-penalty", o.sampling.repetition_penalty,
                  "Above 1 tokens that were there before come less")
      ->capture_default_str();
  command.add_option("--stop", o.stops, "End before this text; may be given several times")
      ->take_all()
      ->expected(1);
  command
      .add_option("--samples", o.samples, "Texts to write, each after a line of dashes if there are several")
      ->capture_default_str();
  command.add_option("--seed", o.seed, "The same seed writes the same text")->capture_default_str();
  command.add_option("--threads", o.threads, "Processor threads; 0 takes all there are")
      ->capture_default_str();
}

int generate_text(const GenerateOptions& o) {
  validate(o);
  if (o.threads > 0) heed::set_num_threads(o.threads);
  const heed::lm::LanguageModel lm = heed::lm::load_language_model(o.model);
  const Tokens prompt = lm.tokenizer->encode(o.prompt);
  if (o.samples == 1) {
    stream_one(o, lm, prompt);
  } else {
    print_several(o, lm, prompt);
  }
  return 0;
}

}  // namespace heed::app
