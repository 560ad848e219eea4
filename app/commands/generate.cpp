#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/app/threads.h>
#include <heed/core/arguments.h>
#include <heed/lm/generate.h>
#include <heed/text/text_stream.h>

namespace heed::app {
namespace {

constexpr std::int64_t most_samples = 1024;

struct GenerateOptions {
  std::filesystem::path model;
  std::string prompt = "\n";
  std::int64_t tokens = 400;
  heed::lm::SamplingOptions sampling = {.temperature = 0.8};
  std::vector<std::string> stops = {};
  std::int64_t samples = 1;
  std::int64_t seed = 1;
  int threads = 0;
};

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
  heed::check_value(o.samples >= 1 && o.samples <= most_samples, op, "--samples", o.samples,
                    fmt::format("1 to {}", most_samples));
  heed::check_value(o.seed >= 0, op, "--seed", o.seed, "0 or more");
  check_threads(op, o.threads);
}

using Tokens = std::vector<std::int64_t>;
using heed::lm::LanguageModel;
using heed::text::TextStream;

void stream_one(const GenerateOptions& o, const LanguageModel& lm, const Tokens& prompt) {
  heed::Generator generator(static_cast<std::uint64_t>(o.seed));
  TextStream text(*lm.tokenizer, o.stops);
  write_out(o.prompt);
  heed::lm::generate(lm.model, prompt, o.tokens, o.sampling, generator, [&](std::size_t, std::int64_t token) {
    write_out(text.push(token));
    return !text.stopped();
  });
  write_out(text.finish() + "\n");
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
  for (std::size_t b = 0; b < count; ++b) say("---\n{}{}\n", texts[b], streams[b].finish());
}

void add_sampling_flags(CLI::App& parser, heed::lm::SamplingOptions& sampling) {
  parser
      .add_option("--temperature", sampling.temperature,
                  "Below 1 the likely becomes likelier; 0 always takes the likeliest token")
      ->capture_default_str();
  parser.add_option("--top-k", sampling.top_k, "Choose among the k likeliest tokens; 0: among all")
      ->capture_default_str();
  parser
      .add_option("--top-p", sampling.top_p,
                  "Choose among the likeliest tokens that together have this share")
      ->capture_default_str();
  parser.add_option("--min-p", sampling.min_p, "Choose among tokens with this share of the likeliest one's")
      ->capture_default_str();
  parser
      .add_option("--repetition-penalty", sampling.repetition_penalty,
                  "Above 1 tokens that were there before come less")
      ->capture_default_str();
}

int generate_text(const GenerateOptions& o) {
  validate(o);
  use_threads(o.threads);
  const LanguageModel lm = open_model("generate", o.model);
  const Tokens prompt = lm.tokenizer->encode(o.prompt);
  if (o.samples == 1) {
    stream_one(o, lm, prompt);
  } else {
    print_several(o, lm, prompt);
  }
  return 0;
}

// Earlier versions named the model by a flag.
[[noreturn]] void refuse_model_flag(const std::string& folder) {
  heed::fail<heed::ValueError>(
      "generate", fmt::format("there is no --model; the model is the first word: heed generate {}", folder));
}

}  // namespace

Action generate_command(CLI::App& parser) {
  const auto o = std::make_shared<GenerateOptions>();
  add_model_argument(parser, o->model);
  parser.add_option_function<std::string>("--model", refuse_model_flag)->group("");  // not in the help
  parser.add_option("--prompt", o->prompt, "Text to go on from; a new line by default");
  parser.add_option("--tokens", o->tokens, "Tokens to write")->capture_default_str();
  add_sampling_flags(parser, o->sampling);
  parser.add_option("--stop", o->stops, "End before this text; may be given several times")
      ->take_all()
      ->expected(1);
  parser
      .add_option("--samples", o->samples, "Texts to write, each after a line of dashes if there are several")
      ->capture_default_str();
  parser.add_option("--seed", o->seed, "The same seed writes the same text")->capture_default_str();
  add_threads_flag(parser, o->threads);
  return {.run = [o](const auto&) { return generate_text(*o); }};
}

}  // namespace heed::app
