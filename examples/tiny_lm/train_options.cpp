#include "train_options.h"

#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/check.h>

namespace tiny_lm {
namespace {

constexpr std::int64_t kMostThreads = 256;

void check_flag(bool ok, const char* flag, double value, std::string_view expected) {
  heed::check_value(ok && std::isfinite(value), "train", flag, value, expected);
}

void check_flag(bool ok, const char* flag, std::int64_t value, std::string_view expected) {
  heed::check_value(ok, "train", flag, value, expected);
}

void add_model_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "The model";
  command.add_option("--preset", o.preset, "A model and a recipe by name; every flag below overrides it")
      ->check(CLI::IsMember({"nano"}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--layers", o.layers, "Transformer blocks, one on top of the other")
      ->capture_default_str()
      ->group(group);
  command.add_option("--heads", o.heads, "Attention heads in each block; they share the width evenly")
      ->capture_default_str()
      ->group(group);
  command.add_option("--embd", o.embd, "Width: numbers that stand for one token")
      ->capture_default_str()
      ->group(group);
  command.add_option("--context", o.context, "Tokens the model can look back on")
      ->capture_default_str()
      ->group(group);
  command.add_option("--dropout", o.dropout, "Share of activations set to zero while training")
      ->capture_default_str()
      ->group(group);
  command.add_flag("--bias", o.bias, "Give linear layers and norms a bias")->group(group);
}

void add_recipe_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "The recipe";
  command.add_option("--batch", o.batch, "Windows of text in each step")->capture_default_str()->group(group);
  command.add_option("--steps", o.steps, "Steps of training")->capture_default_str()->group(group);
  command.add_option("--lr", o.lr, "Learning rate after the warm-up")->capture_default_str()->group(group);
  command.add_option("--min-lr", o.min_lr, "Learning rate at the end, reached along a cosine")
      ->capture_default_str()
      ->group(group);
  command.add_option("--warmup", o.warmup, "Steps in which the learning rate rises from nothing")
      ->capture_default_str()
      ->group(group);
  command.add_option("--weight-decay", o.weight_decay, "Pull of AdamW towards zero, on matrices alone")
      ->capture_default_str()
      ->group(group);
  command.add_option("--clip", o.clip, "Longest gradient; a longer one is scaled down. 0 switches it off")
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", o.seed, "Start of all random numbers: the same seed, the same run")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_train_options(CLI::App& command, TrainOptions& o) {
  command.add_option("--text", o.text, "UTF-8 text to learn; without it, tales made up by the program");
  command.add_option("--out", o.out, "Folder for the model, log.jsonl and report.html");
  command.add_option("--threads", o.threads, "Processor threads; 0 takes all there are")
      ->capture_default_str();
  command
      .add_option("--eval-every", o.eval_every,
                  "Steps between looks at the validation loss; 0 looks at the end alone")
      ->capture_default_str();
  command.add_flag("--check", o.check, "First compare the model's gradients with difference quotients");
  command.add_flag("--json", o.json, "End with one line of JSON that sums the run up");
  add_model_options(command, o);
  add_recipe_options(command, o);
}

void validate(const TrainOptions& o) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"--layers", o.layers}, {"--heads", o.heads},
                                                        {"--embd", o.embd},     {"--context", o.context},
                                                        {"--batch", o.batch},   {"--steps", o.steps}};
  for (const auto& [flag, value] : sizes) check_flag(value >= 1, flag, value, "at least 1");
  check_flag(o.embd % o.heads == 0, "--embd", o.embd, fmt::format("a multiple of --heads {}", o.heads));
  check_flag(o.dropout >= 0 && o.dropout < 1, "--dropout", o.dropout, "0 <= --dropout < 1");
  check_flag(o.lr > 0, "--lr", o.lr, "above 0");
  check_flag(o.min_lr >= 0 && o.min_lr <= o.lr, "--min-lr", o.min_lr, fmt::format("from 0 to --lr {}", o.lr));
  check_flag(o.warmup >= 0, "--warmup", o.warmup, "0 or more");
  check_flag(o.weight_decay >= 0, "--weight-decay", o.weight_decay, "0 or more");
  check_flag(o.clip >= 0, "--clip", o.clip, "0 or more");
  check_flag(o.seed >= 0, "--seed", o.seed, "0 or more");
  check_flag(o.threads >= 0 && o.threads <= kMostThreads, "--threads", std::int64_t{o.threads},
             fmt::format("0 to {}", kMostThreads));
  check_flag(o.eval_every >= 0, "--eval-every", o.eval_every, "0 or more");
}

}  // namespace tiny_lm
