#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/arguments.h>
#include <heed/io/atomic_file.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors.h>
#include <heed/train/checkpoint.h>

namespace heed::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // finds a key of an object fast, unlike ordered_json

constexpr const char* format_name = "heed-checkpoint/2";
constexpr std::string_view step_prefix = "step-";

[[noreturn]] void fail_loading(const std::string& path, const std::string& reason) {
  fail<IoError>("load_checkpoint", fmt::format("'{}': {}", path, reason));
}

// The content of a checkpoint's JSON file, after its checksum was verified.
Json read_record(const std::string& path) {
  Json record = Json::parse(io::read_json_object(path));
  const Json checksum = record.value("checksum", Json());
  record.erase("checksum");
  if (record.value("format", Json()) != Json(format_name)) {
    fail_loading(path, fmt::format("is not of the format {}", format_name));
  }
  if (checksum != Json(io::text_checksum(record.dump()))) fail_loading(path, "its checksum does not fit");
  return record;
}

// Checked here, because get() would truncate a real number.
std::uint64_t natural_number(const std::string& path, const Json& value) {
  if (!value.is_number_unsigned()) fail_loading(path, "a field is missing or of the wrong kind");
  return value.get<std::uint64_t>();
}

std::optional<double> loss_of(const Json& record) {
  const Json& loss = record.at("validation_loss");
  return loss.is_null() ? std::nullopt : std::optional(loss.get<double>());
}

// A name that no file has yet, so that an older checkpoint of this step stays intact until its JSON
// file is replaced.
std::string unused_name(const fs::path& folder, const std::string& stem) {
  std::string name = stem + ".safetensors";
  for (int i = 2; fs::exists(folder / name); ++i) name = fmt::format("{}.{}.safetensors", stem, i);
  return name;
}

nn::NamedTensors load_tensors(const std::string& path, const Json& record) {
  const fs::path name = record.at("file").get<std::string>();
  if (name.filename() != name) fail_loading(path, "names tensors in another folder");
  const fs::path file = fs::path(path).parent_path() / name;
  std::error_code code;
  const auto bytes = fs::file_size(file, code);
  if (code) fail_loading(file, code.message());
  const std::uint64_t expected = natural_number(path, record.at("bytes"));
  if (bytes != expected) fail_loading(file, fmt::format("has {} bytes instead of {}", bytes, expected));
  if (io::file_checksum(file) != record.at("checksum").get<std::string>()) {
    fail_loading(file, "its checksum does not fit");
  }
  return io::load_safetensors(file);
}

// The content of a checkpoint's JSON file.
std::string record_of(const Checkpoint& checkpoint, const Json& config, const fs::path& tensors) {
  const std::optional<double>& loss = checkpoint.validation_loss;
  Json record = {{"format", format_name},
                 {"step", checkpoint.step},
                 {"random", {{"seed", checkpoint.random.seed}, {"offset", checkpoint.random.offset}}},
                 {"validation_loss", loss && std::isfinite(*loss) ? Json(*loss) : Json()},
                 {"config", config},
                 {"tensors",
                  {{"file", tensors.filename().string()},
                   {"bytes", fs::file_size(tensors)},
                   {"checksum", io::file_checksum(tensors)}}}};
  record["checksum"] = io::text_checksum(record.dump());
  return record.dump(2) + "\n";
}

bool is_checkpoint(const fs::path& path) {
  return path.filename().string().starts_with(step_prefix) && path.extension() == ".json";
}

// Files that writing a checkpoint may leave behind: tensors and temporary files.
bool may_be_leftover(const fs::path& path) {
  const std::string name = path.filename().string();
  return (name.starts_with(step_prefix) && path.extension() == ".safetensors") ||
         (name.starts_with("." + std::string(step_prefix)) && name.find(".tmp-") != std::string::npos);
}

}  // namespace

void Checkpoint::put(std::string_view part, const nn::NamedTensors& state) {
  for (const auto& [name, value] : state) tensors.emplace_back(fmt::format("{}.{}", part, name), value);
}

nn::NamedTensors Checkpoint::part(std::string_view part) const {
  const std::string prefix = std::string(part) + ".";
  nn::NamedTensors state;
  for (const auto& [name, value] : tensors) {
    if (name.starts_with(prefix)) state.emplace_back(name.substr(prefix.size()), value);
  }
  return state;
}

Checkpoint load_checkpoint(const std::string& json_file) {
  const Json record = read_record(json_file);
  try {
    Checkpoint checkpoint;
    const std::uint64_t step = natural_number(json_file, record.at("step"));
    if (step > INT64_MAX) fail_loading(json_file, fmt::format("its step is {}", step));
    checkpoint.step = static_cast<std::int64_t>(step);
    checkpoint.random = {natural_number(json_file, record.at("random").at("seed")),
                         natural_number(json_file, record.at("random").at("offset"))};
    checkpoint.validation_loss = loss_of(record);
    checkpoint.config = record.at("config").dump();
    checkpoint.tensors = load_tensors(json_file, record.at("tensors"));
    return checkpoint;
  } catch (const Json::exception&) {
    fail_loading(json_file, "a field is missing or of the wrong kind");
  }
}

CheckpointFolder::CheckpointFolder(std::string folder, std::int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  check_value(keep >= 1, "CheckpointFolder", "keep", keep, "at least 1");
}

std::string CheckpointFolder::save(const Checkpoint& checkpoint) {
  const Json config = Json::parse(checkpoint.config, nullptr, false);
  if (!config.is_object()) fail<ValueError>("save checkpoint", "config is no JSON object");
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code) {
    fail<IoError>("save checkpoint", fmt::format("cannot make '{}'", folder_), code.message());
  }
  const std::string stem = fmt::format("{}{:08}", step_prefix, checkpoint.step);
  const fs::path tensors = fs::path(folder_) / unused_name(folder_, stem);
  std::string path = fs::path(folder_) / (stem + ".json");
  try {
    io::save_safetensors(tensors, checkpoint.tensors, {{"format", format_name}});
    io::write_file(path, record_of(checkpoint, config, tensors));
  } catch (...) {
    // On a full disk they would take the room of the next checkpoint.
    if (!fs::exists(path, code)) fs::remove(tensors, code);
    throw;
  }
  prune(path);
  return path;
}

std::vector<std::string> CheckpointFolder::list() const {
  std::vector<std::string> paths;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder_, code)) {
    if (is_checkpoint(entry.path())) paths.push_back(entry.path());
  }
  // In the order of steps: all paths are in one folder, so a longer one has a larger number.
  std::sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return paths;
}

std::optional<Checkpoint> CheckpointFolder::latest(
    const std::function<void(const std::string&)>& on_problem) const {
  std::vector<std::string> paths = list();
  if (paths.empty()) return std::nullopt;
  std::string first_problem;
  for (; !paths.empty(); paths.pop_back()) {
    try {
      return load_checkpoint(paths.back());
    } catch (const IoError& error) {
      if (first_problem.empty()) first_problem = error.what();
      if (on_problem) on_problem(error.what());
    }
  }
  fail<IoError>("load_checkpoint", fmt::format("'{}' has no whole checkpoint", folder_), first_problem);
}

std::optional<std::string> CheckpointFolder::best() const {
  std::optional<std::string> best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& path : list()) {
    try {
      const double loss = loss_of(read_record(path)).value_or(std::numeric_limits<double>::infinity());
      if (std::isinf(loss) || loss > least) continue;
      least = loss;
      best = path;
    } catch (const std::exception&) {
      continue;  // a damaged checkpoint is not the best
    }
  }
  return best;
}

void CheckpointFolder::prune(const std::string& saved) const {
  std::error_code ignored;  // what cannot be removed now is removed by a later call
  std::vector<std::string> paths = list();
  while (paths.back() != saved) {  // later steps of a run that was resumed from an earlier one
    fs::remove(paths.back(), ignored);
    paths.pop_back();
  }
  const std::optional<std::string> kept_best = best();
  const std::size_t excess = paths.size() - std::min(paths.size(), static_cast<std::size_t>(keep_));
  std::set<std::string> named;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i < excess && paths[i] != kept_best) {
      fs::remove(paths[i], ignored);
      continue;
    }
    try {
      named.insert(fs::path(folder_) / read_record(paths[i]).at("tensors").at("file").get<std::string>());
    } catch (const std::exception&) {
      return;  // the tensor file of a damaged checkpoint is unknown: remove none
    }
  }
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (may_be_leftover(entry.path()) && named.count(entry.path()) == 0) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove(path, ignored);
}

}  // namespace heed::train
