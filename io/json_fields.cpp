#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/json_fields.h>

namespace heed::io {
namespace {

using Json = nlohmann::json;  // finds a key of an object fast, unlike ordered_json

}  // namespace

struct JsonFields::State {
  Json object;
  std::string prefix;
  std::shared_ptr<std::vector<std::string>> problems;
  std::set<std::string, std::less<>> asked = {};

  // The value of a field, or nullptr if it is absent or null.
  const Json* find(std::string_view key) {
    asked.emplace(key);
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  void refuse(std::string_view key, const Json& value, std::string_view expected) const {
    const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
    problems->push_back(fmt::format("{}{} is {}, not {}", prefix, key, shown, expected));
  }
  template <class T>
  void take(std::string_view key, T& member, bool (*fits)(const Json&), const char* expected) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (fits(*value)) {
      member = value->get<T>();
    } else {
      refuse(key, *value, expected);
    }
  }
};

JsonFields::JsonFields(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonFields::~JsonFields() = default;
JsonFields::JsonFields(JsonFields&&) noexcept = default;

JsonFields::JsonFields(std::string_view json)
    : state_(new State{Json::parse(json, nullptr, false), "", std::make_shared<std::vector<std::string>>()}) {
  if (!state_->object.is_object()) fail<ValueError>("configuration", "no JSON object");
}

bool JsonFields::has(std::string_view key) const {
  const auto found = state_->object.find(key);
  return found != state_->object.end() && !found->is_null();
}

void JsonFields::require(std::string_view key) {
  if (!has(key)) problem(fmt::format("{}{} is missing", state_->prefix, key));
}

void JsonFields::integer(std::string_view key, std::int64_t& member) {
  const auto fits = [](const Json& value) {
    return value.is_number_integer() &&
           (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  };
  state_->take(key, member, fits, "a whole number");
}

void JsonFields::number(std::string_view key, double& member) {
  state_->take(
      key, member, [](const Json& value) { return value.is_number(); }, "a number");
}

void JsonFields::flag(std::string_view key, bool& member) {
  state_->take(
      key, member, [](const Json& value) { return value.is_boolean(); }, "true or false");
}

void JsonFields::text(std::string_view key, std::string& member) {
  state_->take(
      key, member, [](const Json& value) { return value.is_string(); }, "a text");
}

std::optional<std::size_t> JsonFields::choice(std::string_view key,
                                              const std::vector<std::string_view>& names) {
  const Json* value = state_->find(key);
  if (value == nullptr) return std::nullopt;
  const auto found =
      value->is_string() ? std::find(names.begin(), names.end(), value->get<std::string>()) : names.end();
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  state_->refuse(key, *value, fmt::format("{}", fmt::join(names, ", ")));
  return std::nullopt;
}

void JsonFields::allow(std::string_view key, const std::vector<std::string_view>& values) {
  const Json* value = state_->find(key);
  if (value == nullptr) return;
  const bool allowed = std::any_of(values.begin(), values.end(),
                                   [&](std::string_view one) { return *value == Json::parse(one); });
  if (allowed) return;
  state_->refuse(key, *value, values.empty() ? "supported" : fmt::format("{}", fmt::join(values, " or ")));
}

std::optional<JsonFields> JsonFields::object(std::string_view key) {
  const Json* value = state_->find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    state_->refuse(key, *value, "an object");
    return std::nullopt;
  }
  return JsonFields(
      std::make_unique<State>(State{*value, fmt::format("{}{}.", state_->prefix, key), state_->problems}));
}

void JsonFields::problem(std::string text) { state_->problems->push_back(std::move(text)); }

void JsonFields::refuse_others() {
  for (const auto& [key, value] : state_->object.items()) {
    if (!value.is_null() && state_->asked.count(key) == 0) {
      problem(fmt::format("{}{} is unknown", state_->prefix, key));
    }
  }
}

void JsonFields::check(std::string_view owner) const {
  if (state_->problems->empty()) return;
  fail<ValueError>(owner, fmt::format("{}", fmt::join(*state_->problems, "; ")));
}

}  // namespace heed::io
