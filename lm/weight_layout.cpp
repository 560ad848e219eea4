#include <array>
#include <string_view>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/lm/weight_layout.h>
#include <heed/nn/clone.h>

namespace heed::lm {
namespace {

constexpr std::string_view layout_op = "weight layout";
constexpr std::int64_t largest_size = std::int64_t{1}
                                      << 30;  // so that sums of products of sizes stay below 2^63

// Bounds the sizes that a file claims before anything is made of them.
void check_sizes(const nn::CausalLMOptions& o, std::int64_t most_layers) {
  const auto check = [](const char* name, std::int64_t size, std::int64_t least) {
    check_value(size >= least && size <= largest_size, layout_op, name, size,
                fmt::format("{} to 2^30", least));
  };
  check("vocab_size", o.vocab_size, 1);
  check("context", o.context, 1);
  check("num_layers", o.num_layers, 1);
  check("num_heads", o.num_heads, 1);
  check("embed_dim", o.embed_dim, 1);
  check("num_kv_heads", o.num_kv_heads, 0);
  check("head_dim", o.head_dim, 0);
  check("hidden_dim", o.hidden_dim, 0);
  check("num_heads * head_dim", o.num_heads * o.head_dim, 0);
  check_value(o.num_layers <= most_layers, layout_op, "num_layers", o.num_layers,
              fmt::format("at most {}", most_layers));
}

// A model that has the shapes of its parameters and no memory for their elements.
nn::CausalLM shapes_alone(const nn::CausalLMOptions& options, std::int64_t most_layers) {
  check_sizes(options, most_layers);
  return nn::without_init<nn::CausalLM>(options, nn::InitialElements::none);
}

using Renaming = std::pair<std::string_view, std::string_view>;

// Module paths of CausalLM and of the other formats, outside the blocks and within them.
constexpr std::array<Renaming, 4> gpt2_names = {{{"token", "transformer.wte"},
                                                 {"position", "transformer.wpe"},
                                                 {"norm", "transformer.ln_f"},
                                                 {"head", "lm_head"}}};
constexpr std::array<Renaming, 6> gpt2_block_names = {{{"norm1", "ln_1"},
                                                       {"attention.qkv", "attn.c_attn"},
                                                       {"attention.out", "attn.c_proj"},
                                                       {"norm2", "ln_2"},
                                                       {"mlp.up", "mlp.c_fc"},
                                                       {"mlp.down", "mlp.c_proj"}}};
constexpr std::array<Renaming, 3> llama_names = {
    {{"token", "model.embed_tokens"}, {"norm", "model.norm"}, {"head", "lm_head"}}};
constexpr std::array<Renaming, 7> llama_block_names = {{{"norm1", "input_layernorm"},
                                                        {"attention.qkv", "self_attn.qkv"},  // see add_parts
                                                        {"attention.out", "self_attn.o_proj"},
                                                        {"norm2", "post_attention_layernorm"},
                                                        {"mlp.up", "mlp.up_proj"},
                                                        {"mlp.gate", "mlp.gate_proj"},
                                                        {"mlp.down", "mlp.down_proj"}}};

template <class Table>
std::string renamed(std::string_view module, const Table& table) {
  for (const auto& [own, theirs] : table) {
    if (module == own) return std::string(theirs);
  }
  fail<ValueError>(layout_op, "the format has no place for a parameter", fmt::format("'{}'", module));
}

struct Path {
  std::string block;   // `3` of blocks.3.mlp.up.weight; empty outside the blocks
  std::string module;  // `mlp.up`
  std::string kind;    // `weight`
};

Path split_path(std::string_view path) {
  Path result;
  constexpr std::string_view blocks = "blocks.";
  if (path.starts_with(blocks)) {
    const std::size_t end = path.find('.', blocks.size());
    result.block = path.substr(blocks.size(), end - blocks.size());
    path.remove_prefix(end + 1);
  }
  const std::size_t dot = path.rfind('.');
  result.module = path.substr(0, dot);
  result.kind = path.substr(dot + 1);
  return result;
}

std::string file_name(const Path& path, WeightFormat format) {
  const bool llama = format == WeightFormat::llama;
  if (path.block.empty()) {
    const std::string module = llama ? renamed(path.module, llama_names) : renamed(path.module, gpt2_names);
    return module + "." + path.kind;
  }
  const std::string module =
      llama ? renamed(path.module, llama_block_names) : renamed(path.module, gpt2_block_names);
  return fmt::format("{}.{}.{}.{}", llama ? "model.layers" : "transformer.h", path.block, module, path.kind);
}

// A slot for each of q, k and v, which CausalLM keeps in one parameter.
void add_parts(std::vector<WeightSlot>& slots, const WeightSlot& whole, const nn::QkvProjectionOptions& qkv) {
  std::int64_t row = 0;
  for (const auto& [part, rows] :
       {std::pair("q_proj", qkv.query_width), {"k_proj", qkv.key_width}, {"v_proj", qkv.key_width}}) {
    WeightSlot slot = whole;
    slot.name.replace(slot.name.rfind("qkv"), 3, part);
    slot.shape[0] = rows;
    slot.first_row = row;
    slots.push_back(slot);
    row += rows;
  }
}

}  // namespace

std::vector<std::pair<std::string, Shape>> parameter_shapes(const nn::CausalLMOptions& options,
                                                            std::int64_t most_layers) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [path, tensor] : shapes_alone(options, most_layers).state_dict()) {
    shapes.emplace_back(path, tensor.shape());
  }
  return shapes;
}

std::vector<WeightSlot> weight_slots(const nn::CausalLMOptions& options, WeightFormat format,
                                     std::int64_t most_layers) {
  nn::CausalLMOptions o = options;
  if (format == WeightFormat::gpt2) o.bias = true;
  const nn::CausalLM model = shapes_alone(o, most_layers);
  std::vector<WeightSlot> slots;
  for (const auto& [parameter, tensor] : model.state_dict()) {
    WeightSlot slot{.name = parameter, .shape = tensor.shape(), .parameter = parameter};
    if (format == WeightFormat::heed) {
      slots.push_back(slot);
      continue;
    }
    const Path path = split_path(parameter);
    slot.name = file_name(path, format);
    slot.transposed = format == WeightFormat::gpt2 && !path.block.empty() && tensor.rank() == 2;
    if (slot.transposed) slot.shape = {tensor.size(1), tensor.size(0)};
    if (format == WeightFormat::llama && path.module == "attention.qkv") {
      add_parts(slots, slot, model.blocks[0].attention.qkv.options());
    } else {
      slots.push_back(slot);
    }
  }
  if (format != WeightFormat::heed && o.tied) {
    WeightSlot head = slots.front();  // the token embedding
    head.name = "lm_head.weight";
    head.repeated = true;
    slots.push_back(head);
  }
  return slots;
}

bool is_saved_buffer(const std::string& name, WeightFormat format) {
  if (format == WeightFormat::llama) return name.ends_with(".rotary_emb.inv_freq");
  if (format == WeightFormat::heed) return false;
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

}  // namespace heed::lm
