#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/app/run/text_data.h>
#include <heed/app/threads.h>
#include <heed/core/arguments.h>
#include <heed/io/read_file.h>
#include <heed/lm/text_score.h>
#include <heed/train/report/jsonl_log.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;

struct EvalOptions {
  fs::path model;
  std::vector<fs::path> files;
  std::int64_t stride = 0;  // 0: the context
  int threads = 0;
  bool json = false;
};

// Sums over predicted tokens.
struct Sums {
  double nats = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;

  double per_token() const { return nats / static_cast<double>(tokens); }
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
};

Sums score_file(lm::LanguageModel& lm, const fs::path& path, std::int64_t stride) {
  std::string text = heed::io::read_file(path);
  if (text::take_byte_order_mark(text)) tell_byte_order_marks({path.string()});
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
  say("{:<9} {:.4f} nats per token, perplexity {:.4g}, {:.4f} bits per byte; {} tokens, {} bytes\n", name,
      sums.per_token(), std::exp(sums.per_token()), sums.bits_per_byte(), sums.tokens, sums.bytes);
}

int evaluate_texts(const EvalOptions& o) {
  heed::check_value(o.stride >= 0, "eval", "--stride", o.stride, "0 or more");
  check_threads("eval", o.threads);
  use_threads(o.threads);
  lm::LanguageModel lm = open_model("eval", o.model);
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
  say("counted   every token but a text's first once, in windows of {} tokens that begin {} apart; a token "
      "sees "
      "those before it in its window\n",
      context, stride);
  if (o.json) {
    say("{}\n", train::report::to_json_line({{"nats_per_token", all.per_token()},
                                             {"perplexity", std::exp(all.per_token())},
                                             {"bits_per_byte", all.bits_per_byte()},
                                             {"tokens", all.tokens},
                                             {"bytes", all.bytes}}));
  }
  return 0;
}

}  // namespace

Action eval_command(CLI::App& parser) {
  const auto o = std::make_shared<EvalOptions>();
  add_model_argument(parser, o->model);
  parser.add_option("FILE", o->files, "Texts to predict")->required()->type_name("");
  parser
      .add_option(
          "--stride", o->stride,
          "Tokens from one window to the next; fewer than the context: every token sees more before it, "
          "and it takes longer. 0: the context")
      ->capture_default_str();
  add_threads_flag(parser, o->threads);
  parser.add_flag("--json", o->json, "End with one line of JSON");
  return {.run = [o](const auto&) { return evaluate_texts(*o); }};
}

}  // namespace heed::app
