#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/lm/pretrained.h>
#include <heed/lm/pretrained_config.h>
#include <heed/lm/weight_files.h>
#include <heed/nn/clone.h>

namespace heed::lm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_pretrained(const std::string& path, const std::string& reason) {
  fail<IoError>("load_pretrained", fmt::format("'{}': {}", path, reason));
}

// A GPT-2 that was saved without its language-model head has names without the prefix `transformer.`:
// removes that prefix from the slots if the files have it so.
void fit_prefix(std::vector<WeightSlot>& slots, const WeightFiles& files) {
  constexpr std::string_view prefix = "transformer.";
  const std::string& first = slots.front().name;
  if (!first.starts_with(prefix) || files.has(first) || !files.has(first.substr(prefix.size()))) return;
  for (WeightSlot& slot : slots) {
    if (slot.name.starts_with(prefix)) slot.name.erase(0, prefix.size());
  }
}

}  // namespace

nn::CausalLM load_pretrained(const std::string& folder_name) {
  const fs::path folder = folder_name;
  const fs::path config_path = folder / "config.json";
  const std::string json = io::read_json_object(config_path);
  PretrainedConfig config;
  std::vector<WeightSlot> slots;
  try {
    config = pretrained_config_from_json(json);
  } catch (const ValueError& error) {
    fail_pretrained(config_path, error.what());
  }
  const WeightFiles files(folder);
  try {
    slots = weight_slots(config.options, config.format, files.size());
    fit_prefix(slots, files);
    check_weights(folder, files, slots, config.format);
    auto model = nn::without_init<nn::CausalLM>(config.options);
    copy_weights(files, slots, model);
    model.eval();
    return model;
  } catch (const ValueError& error) {
    fail_pretrained(config_path, error.what());
  }
}

void save_pretrained(const std::string& folder_name, const nn::CausalLM& model,
                     const SavePretrainedOptions& options) {
  const fs::path folder = folder_name;
  const std::string config = pretrained_config_to_json(model.options(), options.format);
  for (const auto& [path, parameter] : model.named_parameters()) {
    check_dtype("save_pretrained", path, parameter, {DType::f32});
  }
  if (fs::exists(folder / "config.json")) {
    fail<ValueError>("save_pretrained", fmt::format("'{}' has a config.json already", folder.string()), {},
                     "another folder");
  }
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) {
    fail<IoError>("save_pretrained", fmt::format("cannot make '{}'", folder.string()), code.message());
  }
  const std::vector<WeightSlot> slots = weight_slots(model.options(), options.format);
  write_weight_files(folder, file_tensors(model, slots), options.shard_bytes);
  io::write_file(folder / "config.json", config + "\n");
}

}  // namespace heed::lm
