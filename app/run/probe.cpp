#include <algorithm>
#include <ctime>
#include <map>
#include <string>

#include <fmt/chrono.h>

#include <heed/app/run/probe.h>
#include <heed/nn/eval_mode.h>
#include <heed/ops/slice.h>
#include <heed/version.h>

namespace heed::app {
namespace {

constexpr std::int64_t measurements = 40;
constexpr std::int64_t profiled_steps = 10;
constexpr std::int64_t most_windows = 4;
constexpr std::int64_t most_probed = 128;

// The first windows of the first batch, cut to their first tokens.
text::Batch measured_batch(const TrainingRun& run) {
  const text::Batch batch = run.draw(0);  // [batch, context]
  const auto few = [&](const heed::Tensor& x) {
    const heed::Tensor windows = heed::narrow(x, 0, 0, std::min(x.size(0), most_windows));
    return heed::narrow(windows, 1, 0, std::min(run.options.context, most_probed));
  };
  text::Batch measured{.inputs = few(batch.inputs), .targets = {}};
  if (batch.documents.defined()) measured.documents = few(batch.documents);
  return measured;
}

// The entropy of a head that looks at all open tokens alike.
double even_entropy_of(const text::Batch& batch) {
  return batch.documents.defined() ? train::report::even_entropy(batch.documents)
                                   : train::report::even_entropy(batch.inputs.size(1));
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", utc);
}

}  // namespace

RunProbe::RunProbe(TrainingRun& run) : run_(run), measured_(measured_batch(run)) {}

// Called before run_.step counts this step.
bool RunProbe::due() const {
  const TrainOptions& o = run_.options;
  const std::int64_t step = run_.step + 1;
  const std::int64_t looks = o.eval_every > 0 ? o.eval_every : o.steps;
  const std::int64_t every = std::max<std::int64_t>(1, std::min(looks, o.steps / measurements));
  return o.context >= 2 && measured_.inputs.numel() > 0 &&
         (step == 1 || step % every == 0 || step == o.steps);
}

void RunProbe::begin_step() {
  part_norms_.clear();
  if (++begun_ == 2) {  // the first step also fills caches
    ledger_.emplace();
    clock_.emplace();
  }
  if (clock_) clock_->restart();
}

void RunProbe::gradients_are_there() {
  if (!due()) return;
  for (const auto& [name, norm] : train::report::gradient_norms(run_.parameters)) part_norms_.push_back(norm);
}

void RunProbe::end_step(train::report::StepRecord& record) {
  if (!part_norms_.empty()) record.measured = {.part_norms = part_norms_, .heads = heads()};
  const bool last = record.step == run_.options.steps;
  if (!clock_ || (begun_ <= profiled_steps && !last)) return;
  record.profile = profile();
  clock_.reset();
  ledger_.reset();
}

train::report::HeadStatistics RunProbe::heads() {
  const heed::nn::EvalMode mode(run_.model);
  return train::report::measure_heads(run_.model, measured_.inputs, measured_.documents);
}

std::vector<train::report::OperationCost> RunProbe::profile() const {
  std::map<std::string, std::int64_t> saved;
  for (const heed::LedgerRow& row : ledger_->counts().rows) saved[row.op] += row.saved_at_peak;
  const double milliseconds = 1e3 / static_cast<double>(begun_ - 1);
  std::vector<train::report::OperationCost> costs;
  for (const heed::ClockRow& row : clock_->rows()) {
    costs.push_back({.op = row.op,
                     .forward_ms = row.forward * milliseconds,
                     .backward_ms = row.backward * milliseconds,
                     .saved_bytes = static_cast<double>(saved[row.op])});
  }
  return costs;
}

train::report::RunHeader header_of(const TrainingRun& run, const TextData& text, const std::string& prompt) {
  const TrainOptions& o = run.options;
  train::report::RunHeader header{.text = text.name,
                                  .unit = text.unit,
                                  .prompt = prompt,
                                  .version = std::string(heed::version()),
                                  .date = now(),
                                  .tokens = text.token_count,
                                  .tokens_per_step = o.batch * o.context * o.accumulate,
                                  .vocabulary = text.tokenizer->vocab_size(),
                                  .parameters = run.model.parameter_count(),
                                  .layers = o.layers,
                                  .heads = o.heads,
                                  .floor = text.floor,
                                  .even_entropy = even_entropy_of(measured_batch(run))};
  for (const auto& [name, norm] : train::report::gradient_norms(run.parameters)) header.parts.push_back(name);
  return header;
}

}  // namespace heed::app
