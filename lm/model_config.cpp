#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/json_fields.h>
#include <heed/lm/model_config.h>

namespace heed::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;

// In the order of the enumerators.
const std::vector<std::string_view> activation_names = {"relu", "gelu", "gelu_tanh", "silu"};
const std::vector<std::string_view> norm_names = {"layer", "rms"};
const std::vector<std::string_view> layout_names = {"interleaved", "half"};

template <class Choice>
void choose(io::JsonFields& fields, std::string_view key, const std::vector<std::string_view>& names,
            Choice& member) {
  if (const auto place = fields.choice(key, names)) member = static_cast<Choice>(*place);
}

template <class Choice>
std::string_view name_in(const std::vector<std::string_view>& names, Choice choice) {
  return names.at(static_cast<std::size_t>(choice));
}

RopeOptions read_rope(io::JsonFields& fields) {
  RopeOptions rope;
  choose(fields, "layout", layout_names, rope.layout);
  fields.number("base", rope.base);
  fields.integer("rotary", rope.rotary);
  fields.refuse_others();
  return rope;
}

OrderedJson parse(std::string_view json) {
  OrderedJson object = OrderedJson::parse(json, nullptr, false);
  if (!object.is_object()) fail<ValueError>("model configuration", "no JSON object");
  return object;
}

// The entries of an object; nested keys are joined by a dot.
std::vector<std::pair<std::string, OrderedJson>> flat(const OrderedJson& object,
                                                      const std::string& prefix = {}) {
  std::vector<std::pair<std::string, OrderedJson>> entries;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) {
      entries.emplace_back(prefix + key, value);
      continue;
    }
    const auto inner = flat(value, prefix + key + ".");
    entries.insert(entries.end(), inner.begin(), inner.end());
  }
  return entries;
}

std::string value_of(const std::vector<std::pair<std::string, OrderedJson>>& entries,
                     const std::string& key) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? "absent" : found->second.dump();
}

}  // namespace

std::string_view name_of(nn::Activation activation) { return name_in(activation_names, activation); }
std::string_view name_of(nn::NormKind norm) { return name_in(norm_names, norm); }
std::string_view name_of(RopeLayout layout) { return name_in(layout_names, layout); }

std::string model_config_to_json(const nn::CausalLMOptions& o) {
  OrderedJson config = {{"vocab_size", o.vocab_size},
                        {"context", o.context},
                        {"num_layers", o.num_layers},
                        {"num_heads", o.num_heads},
                        {"embed_dim", o.embed_dim},
                        {"dropout", o.dropout},
                        {"bias", o.bias}};
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"num_kv_heads", o.num_kv_heads}, {"head_dim", o.head_dim}, {"hidden_dim", o.hidden_dim}};
  for (const auto& [key, size] : sizes) {
    if (size != 0) config[key] = size;
  }
  if (o.rope) {
    config["rope"] = {{"layout", name_of(o.rope->layout)}, {"base", o.rope->base}};
    if (o.rope->rotary != 0) config["rope"]["rotary"] = o.rope->rotary;
  }
  config["activation"] = name_of(o.activation);
  config["gated"] = o.gated;
  config["norm"] = name_of(o.norm);
  config["norm_epsilon"] = o.norm_epsilon;
  config["tied"] = o.tied;
  return config.dump();
}

nn::CausalLMOptions model_config_from_json(std::string_view json) {
  nn::CausalLMOptions o;
  io::JsonFields fields(json);
  for (const char* key : {"vocab_size", "context", "num_layers", "num_heads", "embed_dim"})
    fields.require(key);
  fields.integer("vocab_size", o.vocab_size);
  fields.integer("context", o.context);
  fields.integer("num_layers", o.num_layers);
  fields.integer("num_heads", o.num_heads);
  fields.integer("embed_dim", o.embed_dim);
  fields.number("dropout", o.dropout);
  fields.flag("bias", o.bias);
  fields.integer("num_kv_heads", o.num_kv_heads);
  fields.integer("head_dim", o.head_dim);
  fields.integer("hidden_dim", o.hidden_dim);
  if (auto rope = fields.object("rope")) o.rope = read_rope(*rope);
  choose(fields, "activation", activation_names, o.activation);
  fields.flag("gated", o.gated);
  choose(fields, "norm", norm_names, o.norm);
  fields.number("norm_epsilon", o.norm_epsilon);
  fields.flag("tied", o.tied);
  fields.refuse_others();
  fields.check("model configuration");
  return o;
}

std::string model_config_differences(std::string_view was_json, std::string_view is_json) {
  const auto was = flat(parse(was_json));
  const auto is = flat(parse(is_json));
  std::vector<std::string> keys;
  for (const auto* side : {&was, &is}) {
    for (const auto& [key, value] : *side) {
      if (key != "dropout" && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  std::vector<std::string> differences;
  for (const std::string& key : keys) {
    const std::string before = value_of(was, key);
    const std::string now = value_of(is, key);
    if (before != now) differences.push_back(fmt::format("{} was {} and is {}", key, before, now));
  }
  return fmt::format("{}", fmt::join(differences, ", "));
}

}  // namespace heed::lm
