#include "run_summary.h"

#include <algorithm>

#include <fmt/format.h>

#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/parallel.h>
#include <heed/nn/eval_mode.h>
#include <heed/ops/slice.h>
#include <heed/train/generate.h>
#include <heed/train/language_model.h>
#include <heed/train/report.h>

namespace tiny_lm {
namespace {

using heed::Tensor;
using heed::nn::CausalLM;
namespace train = heed::train;

constexpr std::int64_t kSampleLength = 400;
constexpr double kSampleTemperature = 0.8;
constexpr std::size_t kMapLength = 48;  // tokens whose attention is drawn

using Tokens = std::vector<std::int64_t>;

// A new line where the text has lines, else the text's first character.
Tokens sample_prompt(const TextData& data) {
  for (std::int64_t token = 0; token < data.tokenizer->vocab_size(); ++token) {
    if (data.tokenizer->decode(std::span(&token, 1)) == "\n") return {token};
  }
  return {data.tokens.front()};
}

std::vector<std::pair<std::string, std::string>> configuration(const TrainOptions& o, const TextData& data,
                                                               const CausalLM& model) {
  const auto number = [](const auto& value) { return fmt::format("{}", value); };
  return {{"text", fmt::format("{}, {} {}s", data.name, data.tokens.size(), data.unit)},
          {"vocabulary", number(data.tokenizer->vocab_size())},
          {"parameters", number(model.parameter_count())},
          {"layers", number(o.layers)},
          {"heads", number(o.heads)},
          {"width", number(o.embd)},
          {"context", number(o.context)},
          {"batch", o.accumulate == 1 ? number(o.batch) : fmt::format("{} × {}", o.accumulate, o.batch)},
          {"steps", number(o.steps)},
          {"optimizer", o.optimizer},
          {"schedule", o.schedule},
          {"learning rate", fmt::format("{} to {}", o.lr, o.min_lr)},
          {"warm-up", number(o.warmup)},
          {"weight decay", number(o.weight_decay)},
          {"clip", number(o.clip)},
          {"dropout", number(o.dropout)},
          {"seed", number(o.seed)}};
}

// Maps of every layer and head for the first tokens of a text.
void add_attention(train::ReportData& report, const TextData& data, const CausalLM& model,
                   const Tokens& text) {
  const std::size_t longest = std::min(kMapLength, static_cast<std::size_t>(model.options().context));
  const auto shown = std::span(text).first(std::min(text.size(), longest));
  for (const std::int64_t& token : shown) report.tokens.push_back(data.tokenizer->decode({&token, 1}));
  const heed::NoGrad guard;
  const Tensor tokens = heed::from_span(shown, {static_cast<std::int64_t>(shown.size())});
  std::int64_t layer = 0;
  for (const Tensor& weights : model.attention_weights(tokens)) {  // [H, T, T]
    for (std::int64_t head = 0; head < weights.size(0); ++head) {
      report.attention.push_back({layer, head, heed::select(weights, 0, head).to_vector<float>()});
    }
    ++layer;
  }
}

void write_files(const TrainOptions& options, const TextData& data, const CausalLM& model,
                 const RunMonitor& monitor, const Tokens& prompt, const Tokens& sample) {
  train::ReportData report;
  report.title = fmt::format("tiny_lm: {}", data.name);
  report.configuration = configuration(options, data, model);
  report.train_loss = monitor.train_curve();
  report.validation_loss = monitor.validation_curve();
  report.learning_rate = monitor.lr_curve();
  report.floor = data.floor;
  report.loss = monitor.validation_loss();
  report.prompt = data.tokenizer->decode(prompt);
  report.sample = data.tokenizer->decode(sample);
  Tokens text = prompt;
  text.insert(text.end(), sample.begin(), sample.end());
  add_attention(report, data, model, text);
  train::save_language_model(options.out, model, *data.tokenizer);
  train::write_report(options.out / "report.html", report);
  const std::string folder = options.out.string();
  fmt::print(
      "files     {0}/model.safetensors, {0}/config.json, {0}/log.jsonl, {0}/run.json, {0}/report.html\n",
      folder);
}

std::string json_line(const TrainOptions& options, const CausalLM& model, const RunMonitor& monitor) {
  const double ms = monitor.median_milliseconds();
  return train::to_json_line(
      {{"val_loss", monitor.validation_loss()},
       {"train_loss", monitor.train_loss()},
       {"ms_per_step", ms},
       {"tokens_per_s", static_cast<double>(options.batch * options.accumulate * options.context) * 1e3 / ms},
       {"params", model.parameter_count()},
       {"threads", std::int64_t{heed::num_threads()}},
       {"peak_rss_mib", peak_rss_mib()}});
}

}  // namespace

void print_introduction(const TrainOptions& o, const TextData& data, const CausalLM& model) {
  fmt::print("text      {}, {} {}s, {} different ones; the last tenth is for validation\n", data.name,
             data.tokens.size(), data.unit, data.tokenizer->vocab_size());
  if (data.floor) {
    fmt::print("floor     {:.3f} nats per {}, averaged over a context of {}: no model can do better\n",
               *data.floor, data.unit, o.context);
  }
  fmt::print("model     {} layers, {} heads, width {}, context {}: {} parameters\n", o.layers, o.heads,
             o.embd, o.context, model.parameter_count());
  fmt::print("recipe    {} steps of {} windows, learning rate {} to {}, {} threads, seed {}\n", o.steps,
             o.batch, o.lr, o.min_lr, heed::num_threads(), o.seed);
  std::fflush(stdout);
}

void finish_run(const TrainOptions& options, const TextData& data, CausalLM& model, RunMonitor& monitor) {
  monitor.end_line();
  const heed::nn::EvalMode mode(model);
  heed::Generator generator(static_cast<std::uint64_t>(options.seed));
  const Tokens prompt = sample_prompt(data);
  const Tokens sample =
      train::generate(model, prompt, kSampleLength, {.temperature = kSampleTemperature}, generator);
  if (!options.out.empty()) write_files(options, data, model, monitor, prompt, sample);
  fmt::print("sample    at temperature {}\n{}{}\n\n", kSampleTemperature, data.tokenizer->decode(prompt),
             data.tokenizer->decode(sample));
  fmt::print("{} nats per {} on the validation text\n",
             train::loss_sentence(monitor.validation_loss(), data.floor), data.unit);
  if (options.json) fmt::print("{}\n", json_line(options, model, monitor));
}

}  // namespace tiny_lm
