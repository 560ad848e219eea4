#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/json_fields.h>
#include <heed/lm/model_config.h>
#include <heed/lm/pretrained_config.h>

namespace heed::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;
using nn::Activation;
using nn::CausalLMOptions;
using nn::NormKind;

constexpr double nanogpt_epsilon = 1e-5;

void read_activation(io::JsonFields& fields, std::string_view key, Activation& activation) {
  static const std::vector<std::string_view> names = {"relu", "gelu", "gelu_new", "gelu_pytorch_tanh",
                                                      "silu", "swish"};
  static const std::vector<Activation> meant = {Activation::relu,      Activation::gelu,
                                                Activation::gelu_tanh, Activation::gelu_tanh,
                                                Activation::silu,      Activation::silu};
  if (const auto place = fields.choice(key, names)) activation = meant[*place];
}

std::string_view written(Activation activation) {
  return activation == Activation::gelu_tanh ? "gelu_new" : name_of(activation);
}

void read_sizes(io::JsonFields& fields, CausalLMOptions& o,
                const std::vector<std::pair<const char*, std::int64_t CausalLMOptions::*>>& sizes) {
  for (const auto& [key, member] : sizes) {
    fields.require(key);
    fields.integer(key, o.*member);
  }
}

CausalLMOptions read_gpt2(io::JsonFields& fields) {
  CausalLMOptions o = {.dropout = 0.1, .activation = Activation::gelu_tanh};
  read_sizes(fields, o,
             {{"vocab_size", &CausalLMOptions::vocab_size},
              {"n_positions", &CausalLMOptions::context},
              {"n_layer", &CausalLMOptions::num_layers},
              {"n_head", &CausalLMOptions::num_heads},
              {"n_embd", &CausalLMOptions::embed_dim}});
  fields.integer("n_inner", o.hidden_dim);
  fields.number("resid_pdrop", o.dropout);
  read_activation(fields, "activation_function", o.activation);
  fields.number("layer_norm_epsilon", o.norm_epsilon);
  fields.flag("tie_word_embeddings", o.tied);
  fields.allow("scale_attn_weights", {"true"});
  fields.allow("scale_attn_by_inverse_layer_idx", {"false"});
  fields.allow("add_cross_attention", {"false"});
  fields.allow("quantization_config", {});
  return o;
}

CausalLMOptions read_llama(io::JsonFields& fields) {
  CausalLMOptions o = {.bias = false,
                       .rope = RopeOptions{.layout = RopeLayout::half},
                       .activation = Activation::silu,
                       .gated = true,
                       .norm = NormKind::rms,
                       .norm_epsilon = 1e-6,
                       .tied = false};
  read_sizes(fields, o,
             {{"vocab_size", &CausalLMOptions::vocab_size},
              {"max_position_embeddings", &CausalLMOptions::context},
              {"num_hidden_layers", &CausalLMOptions::num_layers},
              {"num_attention_heads", &CausalLMOptions::num_heads},
              {"hidden_size", &CausalLMOptions::embed_dim},
              {"intermediate_size", &CausalLMOptions::hidden_dim}});
  fields.integer("num_key_value_heads", o.num_kv_heads);
  fields.integer("head_dim", o.head_dim);
  read_activation(fields, "hidden_act", o.activation);
  fields.number("rms_norm_eps", o.norm_epsilon);
  fields.number("rope_theta", o.rope->base);
  if (auto rope = fields.object("rope_parameters")) {
    rope->number("rope_theta", o.rope->base);
    rope->allow("rope_type", {R"("default")"});
    rope->allow("partial_rotary_factor", {"1"});
    rope->refuse_others();
  }
  fields.number("attention_dropout", o.dropout);
  fields.flag("tie_word_embeddings", o.tied);
  fields.flag("attention_bias", o.bias);
  fields.allow("mlp_bias", {o.bias ? "true" : "false"});
  if (o.bias) fields.require("mlp_bias");
  fields.allow("rope_scaling", {R"({"rope_type": "default"})"});
  fields.allow("partial_rotary_factor", {"1"});
  fields.allow("sliding_window", {});
  fields.allow("quantization_config", {});
  return o;
}

CausalLMOptions read_nanogpt(io::JsonFields& fields) {
  CausalLMOptions o = {.norm_epsilon = nanogpt_epsilon};
  read_sizes(fields, o,
             {{"vocab_size", &CausalLMOptions::vocab_size},
              {"block_size", &CausalLMOptions::context},
              {"n_layer", &CausalLMOptions::num_layers},
              {"n_head", &CausalLMOptions::num_heads},
              {"n_embd", &CausalLMOptions::embed_dim}});
  fields.number("dropout", o.dropout);
  fields.flag("bias", o.bias);
  return o;
}

// Collects the options of a model that a format cannot express.
class Objections {
 public:
  explicit Objections(const char* format) : format_(format) {}
  void unless(bool fits, const std::string& what, const char* instead) {
    if (!fits) list_.push_back(fmt::format("{}, {} has {}", what, format_, instead));
  }
  void raise() const {
    if (list_.empty()) return;
    fail<ValueError>("save_pretrained", fmt::format("{} cannot say it: {}", format_, fmt::join(list_, "; ")));
  }

 private:
  const char* format_;
  std::vector<std::string> list_;
};

void object_to_other_than_gpt(Objections& objections, const CausalLMOptions& options) {
  const CausalLMOptions o = nn::resolved(options);
  objections.unless(o.norm == NormKind::layer, "norm is rms", "layer");
  objections.unless(!o.rope, "positions are rotated by RoPE", "learned ones");
  objections.unless(!o.gated, "the MLP is gated", "a plain one");
  objections.unless(o.num_kv_heads == o.num_heads, fmt::format("num_kv_heads is {}", o.num_kv_heads),
                    "as many as num_heads");
  objections.unless(o.head_dim * o.num_heads == o.embed_dim, fmt::format("head_dim is {}", o.head_dim),
                    "embed_dim / num_heads");
}

OrderedJson write_gpt2(const CausalLMOptions& o) {
  Objections objections("GPT-2");
  object_to_other_than_gpt(objections, o);
  objections.raise();
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", o.vocab_size},
          {"n_positions", o.context},
          {"n_layer", o.num_layers},
          {"n_head", o.num_heads},
          {"n_embd", o.embed_dim},
          {"n_inner", o.hidden_dim == 0 ? OrderedJson() : OrderedJson(o.hidden_dim)},
          {"activation_function", written(o.activation)},
          {"layer_norm_epsilon", o.norm_epsilon},
          {"resid_pdrop", o.dropout},
          {"embd_pdrop", o.dropout},
          {"attn_pdrop", o.dropout},
          {"tie_word_embeddings", o.tied},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"torch_dtype", "float32"}};
}

OrderedJson write_llama(const CausalLMOptions& options) {
  const CausalLMOptions o = nn::resolved(options);
  Objections objections("Llama");
  objections.unless(o.norm == NormKind::rms, "norm is layer", "rms");
  objections.unless(o.gated, "the MLP is plain", "a gated one");
  objections.unless(o.rope.has_value(), "positions are learned", "RoPE");
  if (o.rope) {
    objections.unless(o.rope->layout == RopeLayout::half, "rope.layout is interleaved", "half");
    objections.unless(o.rope->rotary == o.head_dim, fmt::format("rope.rotary is {}", o.rope->rotary),
                      "all of head_dim");
  }
  objections.raise();
  return {{"model_type", "llama"},
          {"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", o.vocab_size},
          {"max_position_embeddings", o.context},
          {"num_hidden_layers", o.num_layers},
          {"num_attention_heads", o.num_heads},
          {"num_key_value_heads", o.num_kv_heads},
          {"head_dim", o.head_dim},
          {"hidden_size", o.embed_dim},
          {"intermediate_size", o.hidden_dim},
          {"hidden_act", written(o.activation)},
          {"rms_norm_eps", o.norm_epsilon},
          {"rope_theta", o.rope->base},
          {"rope_scaling", nullptr},
          {"attention_bias", o.bias},
          {"mlp_bias", o.bias},
          {"attention_dropout", o.dropout},
          {"tie_word_embeddings", o.tied},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"torch_dtype", "float32"}};
}

OrderedJson write_nanogpt(const CausalLMOptions& o) {
  Objections objections("nanoGPT");
  object_to_other_than_gpt(objections, o);
  objections.unless(o.activation == Activation::gelu, fmt::format("activation is {}", name_of(o.activation)),
                    "gelu");
  objections.unless(o.norm_epsilon == nanogpt_epsilon, fmt::format("norm_epsilon is {}", o.norm_epsilon),
                    "1e-05");
  objections.unless(nn::resolved(o).hidden_dim == 4 * o.embed_dim,
                    fmt::format("hidden_dim is {}", o.hidden_dim), "four times embed_dim");
  objections.unless(o.tied, "the head has a weight of its own", "a tied one");
  objections.raise();
  return {{"n_layer", o.num_layers}, {"n_head", o.num_heads}, {"n_embd", o.embed_dim},
          {"block_size", o.context}, {"bias", o.bias},        {"vocab_size", o.vocab_size},
          {"dropout", o.dropout}};
}

}  // namespace

PretrainedConfig pretrained_config_from_json(std::string_view json) {
  io::JsonFields fields(json);
  PretrainedConfig config;
  if (!fields.has("model_type") && fields.has("block_size")) {
    config = {WeightFormat::nanogpt, read_nanogpt(fields)};
  } else {
    fields.require("model_type");
    const auto type = fields.choice("model_type", {"gpt2", "llama"});
    if (type == std::size_t{0}) config = {WeightFormat::gpt2, read_gpt2(fields)};
    if (type == std::size_t{1}) config = {WeightFormat::llama, read_llama(fields)};
  }
  fields.check("model configuration");
  return config;
}

std::string pretrained_config_to_json(const CausalLMOptions& options, WeightFormat format) {
  switch (format) {
    case WeightFormat::gpt2:
      return write_gpt2(options).dump(2);
    case WeightFormat::llama:
      return write_llama(options).dump(2);
    case WeightFormat::nanogpt:
      return write_nanogpt(options).dump(2);
    case WeightFormat::heed:
      break;
  }
  fail<ValueError>("save_pretrained", "heed's own format", {}, "gpt2, llama or nanogpt");
}

}  // namespace heed::lm
