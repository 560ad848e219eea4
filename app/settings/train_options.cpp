#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <heed/app/settings/train_options.h>
#include <heed/app/threads.h>
#include <heed/core/arguments.h>
#include <heed/optim/recipe.h>

namespace heed::app {
namespace {

void check_flag(bool ok, const char* flag, double value, std::string_view expected) {
  heed::check_value(ok && std::isfinite(value), "train", flag, value, expected);
}

void check_flag(bool ok, const char* flag, std::int64_t value, std::string_view expected) {
  heed::check_value(ok, "train", flag, value, expected);
}

void check_name(const char* flag, const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  heed::fail<heed::ValueError>("train", fmt::format("bad {}", flag), fmt::format("'{}'", name),
                               fmt::format("one of {}", fmt::join(names, ", ")));
}

void validate_recipe(const TrainOptions& o) {
  check_name("--optimizer", o.optimizer, heed::optim::optimizer_names());
  check_name("--schedule", o.schedule, heed::optim::schedule_names());
  check_flag(o.lr > 0, "--lr", o.lr, "above 0");
  const double highest = applies(o, "--min-lr") ? o.lr : HUGE_VAL;
  check_flag(o.min_lr >= 0 && o.min_lr <= highest, "--min-lr", o.min_lr,
             fmt::format("from 0 to --lr {}", o.lr));
  check_flag(o.warmup >= 0, "--warmup", o.warmup, "0 or more");
  const bool decays = o.schedule == "warmup-stable-decay";
  const std::int64_t most = decays ? o.steps - o.warmup : INT64_MAX;
  check_flag(o.decay >= 0 && o.decay <= most, "--decay", o.decay,
             decays ? fmt::format("from 0 to --steps less --warmup, {}", most) : "0 or more");
  for (const auto& [flag, value] : {std::pair("--beta1", o.beta1), {"--beta2", o.beta2}, {"--ema", o.ema}}) {
    check_flag(value >= 0 && value < 1, flag, value, "from 0 to below 1");
  }
  for (const auto& [flag, value] :
       {std::pair("--momentum", o.momentum), {"--weight-decay", o.weight_decay}, {"--clip", o.clip}}) {
    check_flag(value >= 0, flag, value, "0 or more");
  }
  check_flag(o.spike_factor == 0 || o.spike_factor > 1, "--spike-factor", o.spike_factor, "0 or above 1");
}

}  // namespace

void validate(const TrainOptions& o) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"--layers", o.layers}, {"--heads", o.heads},           {"--embd", o.embd},   {"--context", o.context},
      {"--batch", o.batch},   {"--accumulate", o.accumulate}, {"--steps", o.steps}, {"--keep", o.keep}};
  for (const auto& [flag, value] : sizes) check_flag(value >= 1, flag, value, "at least 1");
  check_name("--preset", o.preset, {"nano"});
  check_name("--source", o.source, {"tales", "induction"});
  check_name("--split", o.split, {"tail", "document"});
  check_flag(o.vocab_size >= 256, "--vocab-size", o.vocab_size, "at least 256");
  check_flag(o.token_bytes == 0 || o.token_bytes == 2 || o.token_bytes == 4, "--token-bytes", o.token_bytes,
             "2, 4, or 0");
  check_flag(o.embd % o.heads == 0, "--embd", o.embd, fmt::format("a multiple of --heads {}", o.heads));
  check_name("--style", o.style, {"gpt", "llama"});
  check_flag(o.kv_heads == 0 || (o.kv_heads > 0 && o.heads % o.kv_heads == 0), "--kv-heads", o.kv_heads,
             fmt::format("0 or a divisor of --heads {}", o.heads));
  check_flag(o.dropout >= 0 && o.dropout < 1, "--dropout", o.dropout, "0 <= --dropout < 1");
  validate_recipe(o);
  for (const auto& [flag, value] : {std::pair("--seed", o.seed),
                                    {"--eval-every", o.eval_every},
                                    {"--patience", o.patience},
                                    {"--checkpoint-every", o.checkpoint_every}}) {
    check_flag(value >= 0, flag, value, "0 or more");
  }
  check_threads("train", o.threads);
  check_flag(o.checkpoint_every == 0 || !o.out.empty(), "--checkpoint-every", o.checkpoint_every,
             "0 without --out");
}

}  // namespace heed::app
