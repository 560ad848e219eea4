#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/app/settings/train_fields.h>
#include <heed/core/error.h>
#include <heed/io/read_file.h>

namespace heed::app {
namespace {

using Json = nlohmann::json;                 // finds a key fast
using OrderedJson = nlohmann::ordered_json;  // keeps the order of the flags

std::string key_of(std::string_view flag) {
  std::string key(flag.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& problem) {
  heed::fail<heed::ValueError>("train", fmt::format("'{}': {}", path.string(), problem));
}

// False when the value is of another kind, or no number of this size.
bool take(const Json& value, bool& member) {
  if (value.is_boolean()) member = value.get<bool>();
  return value.is_boolean();
}

bool take(const Json& value, double& member) {
  if (value.is_number()) member = value.get<double>();
  return value.is_number();
}

bool take(const Json& value, std::int64_t& member) {
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  if (fits) member = value.get<std::int64_t>();
  return fits;
}

bool take(const Json& value, int& member) {
  std::int64_t wide = 0;
  const bool fits = take(value, wide) && wide >= INT32_MIN && wide <= INT32_MAX;
  if (fits) member = static_cast<int>(wide);
  return fits;
}

bool take(const Json& value, std::string& member) {
  if (value.is_string()) member = value.get<std::string>();
  return value.is_string();
}

bool take(const Json& value, std::vector<std::string>& member) {
  if (!value.is_array()) return false;
  std::vector<std::string> texts(value.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!take(value[i], texts[i])) return false;
  }
  member = std::move(texts);
  return true;
}

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class T>
OrderedJson to_json(const T& value) {
  return value;
}

}  // namespace

bool applies(const TrainOptions& o, std::string_view flag) {
  const bool has_betas = is_one_of(o.optimizer, {"adamw", "adam", "nadam", "radam"});
  const std::pair<std::string_view, bool> conditions[] = {
      {"--data", !o.data.empty()},
      {"--source", o.data.empty()},
      {"--vocab-size", o.tokenizer == "bpe"},
      {"--token-bytes", o.token_bytes != 0},
      {"--warmup", o.schedule != "one-cycle"},
      {"--min-lr", !is_one_of(o.schedule, {"constant", "one-cycle"})},
      {"--decay", o.schedule == "warmup-stable-decay"},
      {"--beta1", has_betas},
      {"--beta2", has_betas || o.optimizer == "rmsprop"},
      {"--momentum", is_one_of(o.optimizer, {"sgd", "rmsprop"})}};
  const auto found = std::find_if(std::begin(conditions), std::end(conditions),
                                  [&](const auto& condition) { return condition.first == flag; });
  return found == std::end(conditions) || found->second;
}

std::string settings_json(const TrainOptions& options) {
  OrderedJson settings = OrderedJson::object();
  each_field(options, [&](const char* flag, const auto& member, const char*, const char*) {
    if (applies(options, flag)) settings[key_of(flag)] = to_json(member);
  });
  return settings.dump(2);
}

void load_settings(TrainOptions& options) {
  if (options.resume && options.out.empty()) {
    heed::fail<heed::ValueError>("train", "--resume without --out", {},
                                 "the folder of the run to go on with");
  }
  if (options.resume && !options.config.empty()) {
    heed::fail<heed::ValueError>("train", "--resume with --config", {}, "one of them");
  }
  if (!options.resume && options.config.empty()) return;
  const std::filesystem::path path = options.resume ? options.out / "run.json" : options.config;
  const Json settings = Json::parse(heed::io::read_json_object(path, {.bytes = 1 << 20, .depth = 4}));
  std::set<std::string> known;
  each_field(options, [&](const char* flag, auto& member, const char*, const char*) {
    const std::string key = key_of(flag);
    known.insert(key);
    if (!settings.contains(key) || take(settings.at(key), member)) return;
    refuse(path, fmt::format("bad value of {}: {}", key, settings.at(key).dump().substr(0, 40)));
  });
  for (const auto& [key, value] : settings.items()) {
    if (known.count(key) == 0) refuse(path, fmt::format("unknown key '{}'", key));
  }
}

}  // namespace heed::app
