#include <cmath>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/core/factory.h>
#include <heed/nn/dropout.h>
#include <heed/nn/init.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/all_finite.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/reshape.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>
#include <heed/ops/where.h>

namespace heed::nn {
namespace {

constexpr std::string_view mha_name = "MultiHeadAttention";

void check_rope(const RopeOptions& rope, std::int64_t head_dim) {
  check_value(rope.rotary >= 2 && rope.rotary <= head_dim && rope.rotary % 2 == 0, mha_name, "rotary",
              rope.rotary, fmt::format("an even number up to head_dim, which is {}", head_dim));
  check_value(rope.base > 0, mha_name, "base", rope.base, "base > 0");
}

// Of all heads together.
std::int64_t query_width(const MultiHeadAttentionOptions& options) {
  return checked_mul(mha_name, "num_heads * head_dim", options.num_heads, options.head_dim);
}
std::int64_t key_width(const MultiHeadAttentionOptions& options) {
  return checked_mul(mha_name, "num_kv_heads * head_dim", options.num_kv_heads, options.head_dim);
}

QkvProjectionOptions projection_of(const MultiHeadAttentionOptions& options) {
  return {.embed_dim = options.embed_dim,
          .kdim = options.kdim,
          .vdim = options.vdim,
          .query_width = query_width(options),
          .key_width = key_width(options),
          .bias = options.bias};
}

LinearOptions output_of(const MultiHeadAttentionOptions& options) {
  return {query_width(options), options.embed_dim, options.out_bias.value_or(options.bias)};
}

std::optional<Norm> head_norm(const MultiHeadAttentionOptions& options) {
  if (!options.qk_norm) return std::nullopt;
  return Norm(
      {.normalized_shape = {options.head_dim}, .kind = *options.qk_norm, .epsilon = options.qk_norm_epsilon});
}

Tensor normed(const Tensor& x, const std::optional<Norm>& norm) { return norm ? (*norm)(x) : x; }

// [.., T, H·D] → [.., H, T, D]
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  Shape shape = x.shape();
  const std::int64_t dim = shape.back() / heads;
  shape[shape.rank() - 1] = heads;
  shape.push_back(dim);
  return transpose(reshape(x, shape), -3, -2);
}

// [.., H, T, D] → [.., T, H·D]
Tensor merge_heads(const Tensor& x) {
  const Tensor swapped = transpose(x, -3, -2);
  Shape shape = swapped.shape();
  shape[shape.rank() - 2] *= shape.back();
  shape.erase(shape.rank() - 1);
  return reshape(swapped, shape);
}

void check_input(const std::string& name, std::string_view argument, const Tensor& x,
                 std::string_view width_name, std::int64_t width) {
  check_floating(name, argument, x);
  check_rank(name, argument, x, 2, Shape::max_rank - 1);
  if (x.shape().back() == width) return;
  fail<ShapeError>(name, fmt::format("{} has the wrong width", argument), describe(x),
                   fmt::format("{}, {}, as the last size", width_name, width));
}

// [.., Hq, Tq, Tk] of q [.., Hq, Tq, D] and k [.., Hkv, Tk, D]
Shape scores_shape(const std::string& name, const Tensor& q, const Tensor& k) {
  const auto leading = [](const Tensor& x) {
    return Shape(std::span(x.shape().begin(), static_cast<std::size_t>(x.rank() - 3)));
  };
  Shape shape = broadcast_shapes(name, leading(q), leading(k));
  shape.push_back(q.size(-3));
  shape.push_back(q.size(-2));
  shape.push_back(k.size(-2));
  return shape;
}

// [.., Hq, Tq, Tk] of query [.., Tq, E] and key [.., Tk, kdim]
Shape scores_of_inputs(const std::string& name, const Tensor& query, const Tensor& key, std::int64_t heads) {
  const auto leading = [](const Tensor& x) {
    return Shape(std::span(x.shape().begin(), static_cast<std::size_t>(x.rank() - 2)));
  };
  Shape shape = broadcast_shapes(name, leading(query), leading(key));
  for (const std::int64_t n : {heads, query.size(-2), key.size(-2)}) shape.push_back(n);
  return shape;
}

// x [.., Tk or 1] → [.., Tk + extra], the new columns filled with `value`.
Tensor widened(const Tensor& x, std::int64_t keys, std::int64_t extra, Scalar value) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = keys;
  const Tensor columns = expand(x, shape);
  shape[shape.rank() - 1] = extra;
  return concat({columns, full(shape, value, x.dtype())}, -1);
}

// x [.., H, T, D] with one more row for each head below: row [1, 1, H·D] → [.., H, T + 1, D]
Tensor with_row(const Tensor& x, const Tensor& row) {
  Shape shape = x.shape();
  shape[shape.rank() - 2] = 1;
  return concat({x, expand(reshape(row, {x.size(-3), 1, x.size(-1)}), shape)}, -2);
}

}  // namespace

MultiHeadAttentionOptions resolved(MultiHeadAttentionOptions options) {
  check_value(options.embed_dim >= 1, mha_name, "embed_dim", options.embed_dim, "at least 1");
  check_value(options.num_heads >= 1, mha_name, "num_heads", options.num_heads, "at least 1");
  if (options.head_dim == 0) {
    check_value(options.embed_dim % options.num_heads == 0, mha_name, "embed_dim", options.embed_dim,
                fmt::format("a multiple of num_heads, which is {}", options.num_heads));
    options.head_dim = options.embed_dim / options.num_heads;
  }
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  if (options.kdim == 0) options.kdim = options.embed_dim;
  if (options.vdim == 0) options.vdim = options.embed_dim;
  if (options.rope && options.rope->rotary == 0) options.rope->rotary = options.head_dim;
  check_value(options.head_dim >= 1, mha_name, "head_dim", options.head_dim, "at least 1");
  check_value(options.num_kv_heads >= 1 && options.num_heads % options.num_kv_heads == 0, mha_name,
              "num_kv_heads", options.num_kv_heads,
              fmt::format("a divisor of num_heads, which is {}", options.num_heads));
  check_value(options.dropout >= 0 && options.dropout <= 1, mha_name, "dropout", options.dropout,
              "0 <= dropout <= 1");
  check_value(options.softcap >= 0, mha_name, "softcap", options.softcap, "softcap >= 0");
  check_value(options.window_left >= -1, mha_name, "window_left", options.window_left, "-1 or more");
  check_value(options.window_right >= -1, mha_name, "window_right", options.window_right, "-1 or more");
  if (options.rope) check_rope(*options.rope, options.head_dim);
  return options;
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options, Generator& generator)
    : Module(mha_name),
      options_(resolved(options)),
      qkv(projection_of(options_), generator),
      q_norm(head_norm(options_)),
      k_norm(head_norm(options_)),
      out(output_of(options_), generator) {
  const std::int64_t width = key_width(options_);
  if (options_.add_bias_kv) {
    const double deviation = 1.0 / std::sqrt(static_cast<double>(width));
    bias_k = normal_parameter({1, 1, width}, generator, deviation);
    bias_v = normal_parameter({1, 1, width}, generator, deviation);
  }
  if (options_.sink) sink = constant_parameter({options_.num_heads}, 0);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                      Generator* generator) const {
  return run(x, x, x, mask.has_query_start() ? mask : mask.query_start(0), generator, false).output;
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionMask& mask, Generator* generator) const {
  return run(query, key, value, mask, generator, false).output;
}

AttentionWeights MultiHeadAttention::with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const AttentionMask& mask, Generator* generator) const {
  return run(query, key, value, mask, generator, true);
}

void MultiHeadAttention::check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) const {
  check_input(name(), "query", query, "embed_dim", options_.embed_dim);
  check_input(name(), "key", key, "kdim", options_.kdim);
  check_input(name(), "value", value, "vdim", options_.vdim);
}

MultiHeadAttention::Heads MultiHeadAttention::project(const Tensor& query, const Tensor& key,
                                                      const Tensor& value) const {
  check_inputs(query, key, value);
  const auto [q, k, v] = qkv(query, key, value);
  return {normed(split_heads(q, options_.num_heads), q_norm),
          normed(split_heads(k, options_.num_kv_heads), k_norm), split_heads(v, options_.num_kv_heads)};
}

AttentionWeights MultiHeadAttention::run(const Tensor& query, const Tensor& key, const Tensor& value,
                                         const AttentionMask& mask, Generator* generator,
                                         bool need_weights) const {
  const Scope scope = enter();
  const AttentionMask joined = windowed(mask);
  const Memory memory = without_closed_rows(query, {key, value}, joined);
  Heads heads = project(query, memory.key, memory.value);
  if (options_.rope) {
    const std::int64_t queries = query.size(-2);
    const std::int64_t keys = key.size(-2);
    heads.query = rotated(heads.query, arange(keys - queries, keys));
    heads.key = rotated(heads.key, arange(0, keys));
  }
  return attend(std::move(heads), joined, generator, need_weights);
}

// A row that no query is open to reaches nothing through attention, and its projections get the gradient 0.
// But the gradient of their weights would be 0 · NaN where the row is not finite: then zeros stand for closed
// rows. Rows that are queries too stay: a query is read whatever the mask says.
MultiHeadAttention::Memory MultiHeadAttention::without_closed_rows(const Tensor& query, const Memory& memory,
                                                                   const AttentionMask& mask) const {
  if (mask.empty()) return memory;
  const auto& [key, value] = memory;
  check_inputs(query, key, value);
  const auto stays = [&](const Tensor& x) { return x.impl() == query.impl() || detail::all_finite(x); };
  if (stays(key) && stays(value)) return memory;
  const Shape scores = scores_of_inputs(name(), query, key, options_.num_heads);
  mask.check(name().c_str(), scores, query.dtype());
  const Tensor pairs = mask.open_pairs(scores);
  if (!pairs.defined() || pairs.numel() == 0) return memory;
  const Tensor open = ne(amax(cast(expand(pairs, scores), DType::i32), {-3, -2}), 0);  // [.., Tk]
  const auto kept = [&](const Tensor& x) { return stays(x) ? x : where(unsqueeze(open, -1), x, 0); };
  const Tensor kept_key = kept(key);
  // One tensor stays one tensor, so that it takes one product.
  return {kept_key, key.impl() == value.impl() ? kept_key : kept(value)};
}

AttentionWeights MultiHeadAttention::attend(Heads heads, AttentionMask mask, Generator* generator,
                                            bool need_weights) const {
  if (options_.add_bias_kv || options_.add_zero_attn) append_extra_keys(heads, mask);
  AttentionOptions options;
  options.mask = std::move(mask);
  options.scale = options_.scale;
  options.softcap = options_.softcap;
  options.sink = sink;
  options.need_weights = need_weights;
  if (training() && options_.dropout > 0) {
    options.dropout = options_.dropout;
    Generator& source = need_generator(name(), options_.dropout, generator);
    options.dropout_keep = ge(rand(scores_shape(name(), heads.query, heads.key), source), options_.dropout);
  }
  const AttentionResult result = attention(heads.query, heads.key, heads.value, options);
  return {out(merge_heads(result.output)), result.weights};
}

AttentionMask MultiHeadAttention::windowed(const AttentionMask& mask) const {
  if (options_.window_left < 0 && options_.window_right < 0) return mask;
  return mask & AttentionMask::window(options_.window_left, options_.window_right);
}

Tensor MultiHeadAttention::rotated(const Tensor& heads, const Tensor& positions) const {
  return options_.rope ? rope(heads, positions, *options_.rope) : heads;
}

// The extra keys have no position. So what the mask says of the other keys is written out pair by pair, and
// the extra ones are left open.
void MultiHeadAttention::append_extra_keys(Heads& heads, AttentionMask& mask) const {
  const Shape scores = scores_shape(name(), heads.query, heads.key);
  const DType dtype = heads.query.dtype();
  const std::int64_t keys = scores.back();
  const std::int64_t extra = (options_.add_bias_kv ? 1 : 0) + (options_.add_zero_attn ? 1 : 0);
  mask.check(name().c_str(), scores, dtype);
  const Tensor open = mask.open_pairs(scores);
  const Tensor added = mask.additive(scores, dtype);
  mask = {};
  if (open.defined()) mask = mask & AttentionMask::attend(widened(open, keys, extra, true));
  if (added.defined()) mask = mask & AttentionMask::bias(widened(added, keys, extra, 0));
  if (options_.add_bias_kv) {
    heads.key = with_row(heads.key, bias_k);
    heads.value = with_row(heads.value, bias_v);
  }
  if (options_.add_zero_attn) {
    const Tensor nothing = zeros({key_width(options_)}, dtype);
    heads.key = with_row(heads.key, nothing);
    heads.value = with_row(heads.value, nothing);
  }
}

void MultiHeadAttention::visit(MemberVisitor& visitor) {
  const bool torch = options_.names == ParameterNames::torch;
  if (torch) {
    visitor.parameter("in_proj_weight", qkv.weight);
    visitor.parameter("q_proj_weight", qkv.q_weight);
    visitor.parameter("k_proj_weight", qkv.k_weight);
    visitor.parameter("v_proj_weight", qkv.v_weight);
    visitor.parameter("in_proj_bias", qkv.bias);
    qkv.visit_blocks(visitor);
  } else {
    visitor.child("qkv", qkv);
  }
  visitor.members("bias_k, bias_v, q_norm, k_norm, sink", bias_k, bias_v, q_norm, k_norm, sink);
  visitor.child(torch ? "out_proj" : "out", out);
  if (visitor.asks_for_blocks()) visit_heads(visitor);
}

// The heads of each weight.
void MultiHeadAttention::visit_heads(MemberVisitor& visitor) const {
  std::vector<ParameterBlock> all;
  const auto heads_of = [&](const std::string& part, std::int64_t count) {
    std::vector<ParameterBlock> heads;
    for (std::int64_t h = 0; h < count; ++h) {
      heads.push_back({fmt::format("{} of head {}", part, h), options_.head_dim});
    }
    all.insert(all.end(), heads.begin(), heads.end());
    return heads;
  };
  visitor.blocks(qkv.q_weight, 0, heads_of("q", options_.num_heads));
  visitor.blocks(qkv.k_weight, 0, heads_of("k", options_.num_kv_heads));
  visitor.blocks(qkv.v_weight, 0, heads_of("v", options_.num_kv_heads));
  visitor.blocks(qkv.weight, 0, all);
  visitor.blocks(out.weight, 1, heads_of("out", options_.num_heads));
}

}  // namespace heed::nn
