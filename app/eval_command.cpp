#include "eval_command.h"

#include <cmath>
#include <numbers>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/parallel.h>
#include <heed/io/read_file.h>
#include <heed/lm/language_model.h>
#include <heed/lm/text_score.h>
#include <heed/train/report/jsonl_log.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

constexpr int kMostThreads = 256;

// Sums over predicted tokens.
struct Sums {
  double nats = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;

  double per_token() const { return nats / static_cast<double>(tokens); }
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
};

Sums score_file(lm::LanguageModel& lm, const fs::path& path, std::int64_t stride) {
  const std::string text = heed::io::read_file(path);
  try {
    const auto tokens = lm.tokenizer->encode(text);
    const auto [nats, count] = lm::score_tokens(lm.model, tokens, {.stride = stride});
    const std::string predicted = lm.tokenizer->decode(std::span(tokens).subspan(1));
    return {nats, count, static_cast<std::int64_t>(predicted.size())};
  } catch (const heed::ValueError& error) {
    heed::fail<heed::ValueError>("eval", fmt::format("'{}': {}", path.string(), error.what()));
  }
}

void print_score(const std::string& name, const Sums& sums) {
  fmt::print("{:<9} {:.4f} nats per token, perplexity {:.4g}, {:.4f} bits per byte; {} tokens, {} bytes\n",
             name, sums.per_token(), std::exp(sums.per_token()), sums.bits_per_byte(), sums.tokens,
             sums.bytes);
}

}  // namespace

void add_eval_options(CLI::App& command, EvalOptions& o) {
  command.add_option("model", o.model, "Folder of a trained or imported model")->required();
  command.add_option("files", o.files, "Texts to predict")->required();
  command
      .add_option(
          "--stride", o.stride,
          "Tokens from one window to the next; fewer than the context: every token sees more before it, "
          "and it takes longer. 0: the context")
      ->capture_default_str();
  command.add_option("--threads", o.threads, "Processor threads; 0 takes all there are")
      ->capture_default_str();
  command.add_flag("--json", o.json, "End with one line of JSON");
}

int evaluate_texts(const EvalOptions& o) {
  heed::check_value(o.threads >= 0 && o.threads <= kMostThreads, "eval", "--threads", std::int64_t{o.threads},
                    fmt::format("0 to {}", kMostThreads));
  if (o.threads > 0) heed::set_num_threads(o.threads);
  lm::LanguageModel lm = lm::load_language_model(o.model);
  const std::int64_t context = lm.model.options().context;
  const std::int64_t stride = o.stride == 0 ? context : o.stride;
  Sums all;
  for (const fs::path& path : o.files) {
    const Sums sums = score_file(lm, path, stride);
    if (o.files.size() > 1) print_score(path.filename().string(), sums);
    all.nats += sums.nats;
    all.tokens += sums.tokens;
    all.bytes += sums.bytes;
  }
  print_score("all", all);
  fmt::print(
      "counted   every token but a text's first once, in windows of {} tokens that begin {} apart; a token "
      "sees "
      "those before it in its window\n",
      context, stride);
  if (o.json) {
    fmt::print("{}\n", train::report::to_json_line({{"nats_per_token", all.per_token()},
                                                    {"perplexity", std::exp(all.per_token())},
                                                    {"bits_per_byte", all.bits_per_byte()},
                                                    {"tokens", all.tokens},
                                                    {"bytes", all.bytes}}));
  }
  return 0;
}

}  // namespace heed::app
