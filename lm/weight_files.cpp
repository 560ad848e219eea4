#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/dtype.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/lm/weight_files.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

namespace heed::lm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // finds a key of an object fast, unlike ordered_json

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

[[noreturn]] void fail_loading_weights(const std::string& path, const std::string& reason) {
  fail<IoError>("load weights", fmt::format("'{}': {}", path, reason));
}

bool is_loadable(const std::string& dtype) { return dtype == "F32" || dtype == "F16" || dtype == "BF16"; }

// What is wrong with one tensor; empty if nothing is.
std::string problem_of(const WeightFiles& files, const WeightSlot& slot, const WeightSlot* original) {
  if (!files.has(slot.name)) {
    return slot.repeated ? "" : fmt::format("'{}' is missing, the model has {}", slot.name, slot.shape.str());
  }
  const io::SafetensorsEntry& entry = files.entry(slot.name);
  if (entry.shape != slot.shape || !is_loadable(entry.dtype)) {
    return fmt::format("'{}' is {}{}, the model has F32{}", slot.name, entry.dtype, entry.shape.str(),
                       slot.shape.str());
  }
  if (original == nullptr || !files.has(original->name)) return "";
  const io::SafetensorsEntry& first = files.entry(original->name);
  const bool same = first.dtype == entry.dtype && std::equal(first.bytes.begin(), first.bytes.end(),
                                                             entry.bytes.begin(), entry.bytes.end());
  return same ? "" : fmt::format("'{}' differs from '{}', to which it is tied", slot.name, original->name);
}

// The rows of a parameter that a slot stands for, transposed where the file stores them transposed.
Tensor part_of(const Tensor& parameter, const WeightSlot& slot) {
  const Tensor whole = parameter.detach();
  if (slot.transposed) return transpose(whole, 0, 1);
  return narrow(whole, 0, slot.first_row, slot.shape[0]);
}

std::uint64_t bytes_of(const Tensor& x) { return static_cast<std::uint64_t>(x.numel()) * size_of(x.dtype()); }

// Older models have nothing but files of pickle, which can run programs when they are read.
void refuse_pickle(const fs::path& folder) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!fs::exists(folder / name)) continue;
    fail<IoError>(
        "load weights",
        fmt::format("'{}' has {} and no {}; heed reads no pickle", folder.string(), name, single_file), {},
        fmt::format("safetensors; in Python, AutoModelForCausalLM.from_pretrained('{0}')"
                    ".save_pretrained('{0}', safe_serialization=True) writes them",
                    folder.string()));
  }
}

}  // namespace

WeightFiles::WeightFiles(const std::string& folder_name) : folder_(folder_name) {
  const fs::path folder = folder_;
  const bool single = fs::exists(folder / single_file);
  const bool index = fs::exists(folder / index_file);
  if (single && index)
    fail_loading_weights(folder_, fmt::format("has both {} and {}", single_file, index_file));
  if (index) {
    read_index();
    return;
  }
  if (!single) refuse_pickle(folder);
  files_.emplace_back(folder / single_file);
  for (const auto& [name, entry] : files_[0].entries()) file_of_.emplace(name, 0);
}

void WeightFiles::read_index() {
  const fs::path folder = folder_;
  const fs::path path = folder / index_file;
  const Json index = Json::parse(io::read_json_object(path));
  const Json map = index.value("weight_map", Json());
  if (!map.is_object()) fail_loading_weights(path, "has no weight_map");
  std::unordered_map<std::string, std::size_t> numbers;
  for (const auto& [name, file] : map.items()) {
    const fs::path file_name = file.is_string() ? fs::path(file.get<std::string>()) : fs::path();
    if (file_name.empty() || file_name.filename() != file_name) {
      fail_loading_weights(path, fmt::format("puts '{}' in no file of its folder", name));
    }
    const auto [place, added] = numbers.emplace(file_name.string(), files_.size());
    if (added) files_.emplace_back(folder / file_name);
    if (files_[place->second].entries().count(name) == 0) {
      fail_loading_weights(path,
                           fmt::format("puts '{}' in '{}', which has it not", name, file_name.string()));
    }
    file_of_.emplace(name, place->second);
  }
  for (const auto& [file, number] : numbers) {
    for (const auto& [name, entry] : files_[number].entries()) {
      const auto found = file_of_.find(name);
      if (found != file_of_.end() && found->second == number) continue;
      fail_loading_weights(path, fmt::format("does not name '{}' of '{}'", name, file));
    }
  }
}

const io::SafetensorsEntry& WeightFiles::entry(const std::string& name) const {
  return files_.at(file_of_.at(name)).entries().at(name);
}

Tensor WeightFiles::load(const std::string& name) const { return files_.at(file_of_.at(name)).load(name); }

void check_weights(const std::string& folder, const WeightFiles& files, const std::vector<WeightSlot>& slots,
                   WeightFormat format) {
  std::vector<std::string> problems;
  std::set<std::string> known;
  for (const WeightSlot& slot : slots) {
    known.insert(slot.name);
    const std::string problem = problem_of(files, slot, slot.repeated ? &slots.front() : nullptr);
    if (!problem.empty()) problems.push_back(problem);
  }
  for (const auto& [name, number] : files.names()) {
    if (known.count(name) != 0 || is_saved_buffer(name, format)) continue;
    const io::SafetensorsEntry& entry = files.entry(name);
    problems.push_back(fmt::format("'{}', {}{}, is not in the model", name, entry.dtype, entry.shape.str()));
  }
  if (!problems.empty()) fail_loading_weights(folder, fmt::format("{}", fmt::join(problems, "; ")));
}

void copy_weights(const WeightFiles& files, const std::vector<WeightSlot>& slots, nn::CausalLM& model) {
  const NoGrad guard;
  const nn::NamedTensors parameters = model.named_parameters();
  const std::unordered_map<std::string, Tensor> by_path(parameters.begin(), parameters.end());
  for (const WeightSlot& slot : slots) {
    if (!slot.repeated) part_of(by_path.at(slot.parameter), slot).copy_(files.load(slot.name));
  }
}

std::vector<std::pair<std::string, Tensor>> file_tensors(const nn::CausalLM& model,
                                                         const std::vector<WeightSlot>& slots) {
  const NoGrad guard;
  const nn::NamedTensors parameters = model.named_parameters();
  const std::unordered_map<std::string, Tensor> by_path(parameters.begin(), parameters.end());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const WeightSlot& slot : slots) {
    if (slot.repeated) continue;
    const auto found = by_path.find(slot.parameter);
    tensors.emplace_back(slot.name,
                         found != by_path.end() ? part_of(found->second, slot) : zeros(slot.shape));
  }
  return tensors;
}

void write_weight_files(const std::string& folder_name,
                        const std::vector<std::pair<std::string, Tensor>>& tensors,
                        std::uint64_t shard_bytes) {
  const fs::path folder = folder_name;
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};  // Hugging Face requires it
  std::vector<std::vector<std::pair<std::string, Tensor>>> shards(1);
  std::uint64_t filled = 0;
  std::uint64_t total = 0;
  for (const auto& named : tensors) {
    const std::uint64_t bytes = bytes_of(named.second);
    if (shard_bytes != 0 && !shards.back().empty() && filled + bytes > shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(named);
    filled += bytes;
    total += bytes;
  }
  if (shards.size() == 1) {
    io::save_safetensors(folder / single_file, tensors, metadata);
    return;
  }
  Json map = Json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const auto& named : shards[i]) map[named.first] = name;
    io::save_safetensors(folder / name, shards[i], metadata);
  }
  const Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  io::write_file(folder / index_file, index.dump(2) + "\n");
}

}  // namespace heed::lm
