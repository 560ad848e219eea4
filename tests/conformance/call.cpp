#include "call.h"

#include <algorithm>
#include <span>

namespace heed::conformance {
namespace {

double number(const nlohmann::json& value, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    std::size_t used = 0;
    try {
      const double result = std::stod(text, &used);
      if (used == text.size()) return result;
    } catch (const std::logic_error&) {
      used = 0;
    }
  }
  throw Skip("attribute '" + name + "' is no number: " + value.dump());
}

std::int64_t whole(const nlohmann::json& value, const std::string& name) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  throw Skip("attribute '" + name + "' is no integer: " + value.dump());
}

}  // namespace

const nlohmann::json* Attributes::find(const std::string& name) const {
  read_.insert(name);
  const auto found = values_.find(name);
  return found == values_.end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json& Attributes::json(const std::string& name) const {
  const nlohmann::json* value = find(name);
  if (!value) throw Skip("attribute '" + name + "' is missing");
  return *value;
}

double Attributes::real(const std::string& name) const { return number(json(name), name); }

std::optional<double> Attributes::optional_real(const std::string& name) const {
  return has(name) ? std::optional(real(name)) : std::nullopt;
}

std::int64_t Attributes::integer(const std::string& name) const { return whole(json(name), name); }

std::optional<std::int64_t> Attributes::optional_integer(const std::string& name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}

bool Attributes::flag(const std::string& name, bool fallback) const {
  return has(name) ? whole(json(name), name) != 0 : fallback;
}

std::string Attributes::text(const std::string& name, const std::string& fallback) const {
  if (!has(name)) return fallback;
  const nlohmann::json& value = json(name);
  if (!value.is_string()) throw Skip("attribute '" + name + "' is no text: " + value.dump());
  return value.get<std::string>();
}

Integers Attributes::integers(const std::string& name) const {
  const nlohmann::json& value = json(name);
  if (!value.is_array()) return {whole(value, name)};
  Integers result;
  for (const nlohmann::json& entry : value) result.push_back(whole(entry, name));
  return result;
}

std::vector<double> Attributes::reals(const std::string& name) const {
  std::vector<double> result;
  for (const nlohmann::json& entry : json(name)) result.push_back(number(entry, name));
  return result;
}

std::vector<std::string> Attributes::texts(const std::string& name) const {
  std::vector<std::string> result;
  for (const nlohmann::json& entry : json(name)) {
    if (!entry.is_string()) throw Skip("attribute '" + name + "' holds no text: " + entry.dump());
    result.push_back(entry.get<std::string>());
  }
  return result;
}

Tensor Attributes::tensor(const std::string& name) const {
  const nlohmann::json& value = json(name);
  if (!value.is_object() || !value.contains("tensor")) throw Skip("attribute '" + name + "' is no tensor");
  return tensor_(value.at("tensor").get<std::string>());
}

void Attributes::require_all_read(const std::string& op) const {
  for (const auto& [name, value] : values_.items()) {
    if (!value.is_null() && !read_.contains(name)) {
      throw Skip(op + ": attribute '" + name + "' is not understood");
    }
  }
}

Tensor Call::named(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? Tensor() : inputs[static_cast<std::size_t>(found - names.begin())];
}

Tensor Call::at(std::size_t position) const { return position < inputs.size() ? inputs[position] : Tensor(); }

bool Call::wants(std::string_view output) const {
  return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

Operation unary(Tensor (*function)(const Tensor&)) {
  return [function](const Call& call) -> Tensors { return {function(call.at(0))}; };
}

Operation binary(Tensor (*function)(const Tensor&, const Tensor&)) {
  return [function](const Call& call) -> Tensors { return {function(call.at(0), call.at(1))}; };
}

Integers list_of(const Tensor& x) {
  if (x.dtype() != DType::i32 && x.dtype() != DType::i64) throw Skip("a list is no tensor of i32 or i64");
  Integers result;
  if (x.dtype() == DType::i32) {
    for (const std::int32_t value : x.to_vector<std::int32_t>()) result.push_back(value);
  } else {
    for (const std::int64_t value : x.to_vector<std::int64_t>()) result.push_back(value);
  }
  return result;
}

double number_of(const Tensor& x) {
  return visit_dtype(x.dtype(),
                     [&]<class T>(std::type_identity<T>) { return static_cast<double>(x.item<T>()); });
}

}  // namespace heed::conformance
