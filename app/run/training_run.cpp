#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/app/run/training_run.h>
#include <heed/core/error.h>
#include <heed/io/read_file.h>
#include <heed/lm/model_config.h>
#include <heed/optim/clip.h>
#include <heed/text/packed_loader.h>
#include <heed/text/window_loader.h>
#include <heed/train/accumulate_gradients.h>
#include <heed/train/evaluate.h>

namespace heed::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t validation_batch = 16;

// Llama keeps the MLP's size with three matrices for two: two thirds of 4 · width, here in steps of 32.
std::int64_t gated_width(std::int64_t width) { return (8 * width / 3 + 31) / 32 * 32; }

heed::nn::CausalLMOptions model_options(const TrainOptions& o, const TextData& text) {
  heed::nn::CausalLMOptions model = {.vocab_size = text.tokenizer->vocab_size(),
                                     .context = o.context,
                                     .num_layers = o.layers,
                                     .num_heads = o.heads,
                                     .embed_dim = o.embd,
                                     .dropout = o.dropout,
                                     .bias = o.bias,
                                     .num_kv_heads = o.kv_heads};
  if (o.style == "llama") {
    model.hidden_dim = gated_width(o.embd);
    model.rope = heed::RopeOptions{};
    model.activation = heed::nn::Activation::silu;
    model.gated = true;
    model.norm = heed::nn::NormKind::rms;
  }
  return model;
}

std::string describe_run(const TrainOptions& options, const TextData& text) {
  Json config = Json::parse(settings_json(options));
  config["model"] = Json::parse(lm::model_config_to_json(model_options(options, text)));
  config["text_checksum"] = text.checksum;
  config["tokenizer_checksum"] = heed::io::text_checksum(text.tokenizer->to_json());
  return config.dump();
}

// Two runs that differ in one of these settings are different runs. The others may change at a resume.
void check_same_run(const std::string& saved_text, const std::string& own_text) {
  const Json saved = Json::parse(saved_text);
  const Json own = Json::parse(own_text);
  std::string differences =
      lm::model_config_differences(saved.value("model", Json::object()).dump(), own.at("model").dump());
  for (const char* key : {"optimizer", "seed", "text_checksum", "split", "pack", "tokenizer_checksum"}) {
    if (saved.value(key, Json()) == own.at(key)) continue;
    differences += fmt::format("{}{} was {} and is {}", differences.empty() ? "" : ", ", key,
                               saved.value(key, Json()).dump(), own.at(key).dump());
  }
  if (differences.empty()) return;
  heed::fail<heed::ValueError>("train", "the checkpoint is of another run", differences);
}

// A part that is switched on now and was off when the checkpoint was written begins anew.
template <class Part>
void restore_part(const train::Checkpoint& checkpoint, std::string_view name, Part* part) {
  const auto state = checkpoint.part(name);
  if (part != nullptr && !state.empty()) part->load_state_dict(state);
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& o, const TextData& text, const train::distributed::World& ranks)
    : world(ranks),
      options(o),
      config(describe_run(o, text)),
      random(static_cast<std::uint64_t>(o.seed)),
      model(model_options(o, text), random),
      parameters(model.named_parameters()),
      reducer(parameters, world),
      optimizer(optim::make_optimizer(o.optimizer, parameters,
                                      {.lr = o.lr,
                                       .weight_decay = o.weight_decay,
                                       .beta1 = o.beta1,
                                       .beta2 = o.beta2,
                                       .momentum = o.momentum})),
      learning_rate(optim::make_schedule(
          o.schedule,
          {.lr = o.lr,
           .min_lr = std::min(o.min_lr, o.lr),  // above lr only where the schedule does not use it
           .warmup = o.warmup,
           .decay = o.decay,
           .total = o.steps})) {
  optimizer->decay_matrices_only();
  draw_from(text);
  random = world.own_generator(random);
  if (o.ema > 0) average = std::make_unique<optim::WeightAverage>(parameters, o.ema);
  if (o.patience > 0) stopping.emplace(o.patience);
  if (o.spike_factor > 0) guard.emplace(optim::SpikeGuardOptions{.factor = o.spike_factor});
}

void TrainingRun::draw_from(const TextData& text) {
  const std::int64_t context = options.context;
  const text::WindowOptions training{
      .context = context, .batch = options.batch, .every = text.every, .share = world.share()};
  const text::WindowOptions looking{.context = context, .batch = validation_batch, .every = text.every};
  const auto use = [this](auto loader, auto sequence) {
    draw = [loader](std::int64_t number) { return loader->batch(number); };
    judge = [this, sequence] { return train::mean_loss(model, sequence, &world); };
  };
  if (options.pack) {
    use(std::make_shared<text::PackedLoader>(text.split.training, training, random),
        text::PackedSequence(text.split.validation, looking));
  } else {
    use(std::make_shared<text::WindowLoader>(text::TokenText(text.split.training), training, random),
        text::WindowSequence(text::TokenText(text.split.validation), looking));
  }
}

std::vector<text::Batch> TrainingRun::batches(std::int64_t number) const {
  std::vector<text::Batch> parts;
  for (std::int64_t i = 0; i < options.accumulate; ++i) {
    parts.push_back(draw(number * options.accumulate + i));
  }
  return parts;
}

train::report::StepRecord TrainingRun::train_step(const StepWatch& watch) {
  const auto loss_of = [this](const text::Batch& batch) { return train::batch_loss(model, batch, &random); };
  train::report::StepRecord record{.lr = learning_rate(step)};
  const auto parts = batches(step);
  if (watch.begin) watch.begin();
  record.loss = train::accumulate_gradients(parts, loss_of, reducer).loss;
  if (watch.gradients_are_there) watch.gradients_are_there();
  const double longest = options.clip > 0 ? options.clip : INFINITY;
  record.gradient_norm = optim::clip_grad_norm(parameters, longest, {.allow_nonfinite = guard.has_value()});
  if (!guard || guard->accepts(record.loss, record.gradient_norm)) {
    optimizer->set_lr(record.lr);
    optimizer->step();
    if (average) average->update();
  }
  optimizer->zero_grad();
  ++step;
  return record;
}

train::Checkpoint TrainingRun::checkpoint(std::optional<double> validation_loss) const {
  train::Checkpoint result{
      .step = step, .random = random.state(), .validation_loss = validation_loss, .config = config};
  result.put("model", model.state_dict());
  result.put("optimizer", optimizer->state_dict());
  if (average) result.put("average", average->state_dict());
  if (stopping) result.put("stopping", stopping->state_dict());
  if (guard) result.put("guard", guard->state_dict());
  return result;
}

void TrainingRun::restore(const train::Checkpoint& checkpoint) {
  check_same_run(checkpoint.config, config);
  model.load_state_dict(checkpoint.part("model"));
  optimizer->load_state_dict(checkpoint.part("optimizer"));
  restore_part(checkpoint, "average", average.get());
  restore_part(checkpoint, "stopping", stopping ? &*stopping : nullptr);
  restore_part(checkpoint, "guard", guard ? &*guard : nullptr);
  random = world.own_generator(heed::Generator(checkpoint.random.seed, checkpoint.random.offset));
  step = checkpoint.step;
}

void TrainingRun::agree() const {
  world.check_equal("the settings and the text", config);
  world.check_equal("the step to go on from", std::to_string(step));
  world.broadcast(parameters);
  world.check_equal(checkpoint(std::nullopt).tensors);
}

}  // namespace heed::app
