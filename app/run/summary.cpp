#include <fmt/format.h>

#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/app/run/page.h>
#include <heed/app/run/sample.h>
#include <heed/app/run/summary.h>
#include <heed/core/error.h>
#include <heed/core/parallel.h>
#include <heed/lm/language_model.h>
#include <heed/train/report/report.h>

namespace heed::app {
namespace {

using heed::nn::CausalLM;
constexpr std::int64_t sample_length = 400;

// Says on standard error why something could not be written, and what is to be done about it.
bool complain(const char* what, const heed::IoError& error, const std::string& then) {
  warn("heed: the {} could not be written: {}; once there is room, {}\n", what, error.what(), then);
  return false;
}

std::string how_to_go_on(const std::filesystem::path& run) {
  const bool kept = !train::CheckpointFolder(checkpoint_folder(run)).list().empty();
  return fmt::format("{} {}", resume_command(run), kept ? "goes on from the last checkpoint" : "begins anew");
}

// Whether all of them could be written; what could not is said.
bool write_files(const TrainOptions& options, const TextData& data, const CausalLM& model) {
  try {
    lm::save_language_model(options.out, model, *data.tokenizer);
  } catch (const heed::IoError& error) {
    return complain("model", error, how_to_go_on(options.out));
  }
  try {
    write_page(options.out);
  } catch (const heed::IoError& error) {
    return complain("page", error, fmt::format("heed report {} makes it", options.out.string()));
  }
  const std::string folder = options.out.string();
  say("files     {0}/model.safetensors, {0}/config.json, {0}/log.jsonl, {0}/run.json, {0}/report.html\n",
      folder);
  return true;
}

std::string json_line(const TrainOptions& options, const CausalLM& model, const RunMonitor& monitor) {
  const double ms = monitor.median_milliseconds();
  return train::report::to_json_line(
      {{"val_loss", monitor.validation_loss()},
       {"train_loss", monitor.train_loss()},
       {"ms_per_step", ms},
       {"tokens_per_s", static_cast<double>(options.batch * options.accumulate * options.context) * 1e3 / ms},
       {"params", model.parameter_count()},
       {"threads", std::int64_t{heed::num_threads()}},
       {"peak_rss_mib", peak_rss_mib()}});
}

std::string documents_for_validation(const text::TokenSplit& split) {
  const std::size_t count = split.validation.size();
  return fmt::format("{} of {} documents {}", count, count + split.training.size(),
                     count == 1 ? "is" : "are");
}

}  // namespace

void print_introduction(const TrainOptions& o, const TextData& data, const TrainingRun& run) {
  say("text      {}, {} {}s, {} different ones; {} for validation\n", data.name, data.token_count, data.unit,
      data.tokenizer->vocab_size(),
      o.split == "tail" ? "the last tenth is" : documents_for_validation(data.split));
  if (data.floor) {
    say("floor     {:.3f} nats per {}, averaged over a context of {}: no model can do better\n", *data.floor,
        data.unit, o.context);
  }
  say("model     {} layers, {} heads, width {}, context {}: {} parameters\n", o.layers, o.heads, o.embd,
      o.context, run.model.parameter_count());
  const int ranks = run.world.size();
  say("recipe    {} steps of {} windows, learning rate {} to {}, {}{} threads, seed {}\n", o.steps, o.batch,
      o.lr, o.min_lr, ranks > 1 ? fmt::format("{} ranks of ", ranks) : "", heed::num_threads(), o.seed);
}

bool finish_run(const TrainOptions& options, const TextData& data, CausalLM& model, RunMonitor& monitor) {
  monitor.end_line();
  const bool written = options.out.empty() || write_files(options, data, model);
  say("sample    at temperature {}\n{}{}\n\n", sample_temperature, sample_prompt(data),
      write_sample(model, data, static_cast<std::uint64_t>(options.seed), sample_length));
  say("{} nats per {} on the validation text\n",
      train::report::loss_sentence(monitor.validation_loss(), data.floor), data.unit);
  if (options.json) say("{}\n", json_line(options, model, monitor));
  return written;
}

}  // namespace heed::app
