#include <algorithm>
#include <cmath>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/cast.h>
#include <heed/ops/slice.h>
#include <heed/text/utf8.h>
#include <heed/train/report/attention_maps.h>
#include <heed/train/report/html.h>

namespace heed::train::report {
namespace {

constexpr std::size_t longest_label = 10;  // characters of a row's label

// The label of a row: the token cut, or padded on the left, to `width` characters.
std::string row_name(const std::string& token, std::size_t width) {
  const auto codes = text::decode_utf8(token, "draw_map");
  std::string name(width - std::min(codes.size(), width), ' ');
  for (std::size_t i = 0; i < std::min(codes.size(), width); ++i) text::append_utf8(name, codes[i]);
  return name;
}

const char* shade(float weight) {
  if (!std::isfinite(weight)) return "!";
  if (weight < 0.05f) return " ";
  return weight < 0.2f ? "\u2591" : weight < 0.4f ? "\u2592" : weight < 0.6f ? "\u2593" : "\u2588";
}

}  // namespace

AttentionMaps attention_maps(const nn::CausalLM& model, const text::Tokenizer& tokenizer,
                             std::span<const std::int64_t> tokens) {
  check_value(!tokens.empty(), "attention_maps", "number of tokens", std::int64_t{0}, "at least 1");
  AttentionMaps result;
  for (const std::int64_t& token : tokens) {
    result.tokens.push_back(visible_token(tokenizer.decode(std::span(&token, 1))));
  }
  const NoGrad guard;
  const Tensor input = from_span(tokens, {static_cast<std::int64_t>(tokens.size())});
  for (const Tensor& weights : model.attention_weights(input)) {  // [H, T, T]
    ++result.layers;
    result.heads = weights.size(0);
    for (std::int64_t head = 0; head < result.heads; ++head) {
      result.maps.push_back(cast(select(weights, 0, head), DType::f32).to_vector<float>());
    }
  }
  return result;
}

std::string draw_map(const AttentionMaps& maps, std::int64_t layer, std::int64_t head) {
  check_value(layer >= 0 && layer < maps.layers, "draw_map", "layer", layer, "one of the model's");
  check_value(head >= 0 && head < maps.heads, "draw_map", "head", head, "one of the layer's");
  const std::vector<float>& map = maps.maps[static_cast<std::size_t>(layer * maps.heads + head)];
  const std::size_t count = maps.tokens.size();
  std::size_t width = 1;
  for (const std::string& token : maps.tokens) {
    width = std::max(width, std::min(longest_label, text::decode_utf8(token, "draw_map").size()));
  }
  std::string picture;
  for (std::size_t query = 0; query < count; ++query) {
    std::string line = row_name(maps.tokens[query], width) + " ";
    for (std::size_t key = 0; key <= query; ++key) line += shade(map[query * count + key]);
    line.erase(line.find_last_not_of(' ') + 1);
    picture += line + "\n";
  }
  return picture;
}

}  // namespace heed::train::report
