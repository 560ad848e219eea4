#include <vector>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/scope.h>
#include <heed/nn/dropout.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/linear.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/transpose.h>

namespace heed::nn {
namespace {

const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& options) {
  constexpr std::string_view op = "MultiHeadAttention";
  check_value(options.embed_dim >= 1, op, "embed_dim", options.embed_dim, "at least 1");
  check_value(options.num_heads >= 1, op, "num_heads", options.num_heads, "at least 1");
  check_value(options.embed_dim % options.num_heads == 0, op, "embed_dim", options.embed_dim,
              fmt::format("a multiple of num_heads, which is {}", options.num_heads));
  check_value(options.dropout >= 0 && options.dropout <= 1, op, "dropout", options.dropout,
              "0 <= dropout <= 1");
  return options;
}

// [.., T, E] → [.., H, T, D]
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  Shape shape = x.shape();
  const std::int64_t dim = shape.back() / heads;
  shape[shape.rank() - 1] = heads;
  shape.push_back(dim);
  return transpose(reshape(x, shape), -3, -2);
}

// [.., H, T, D] → [.., T, E]
Tensor merge_heads(const Tensor& x) {
  const Tensor swapped = transpose(x, -3, -2);
  Shape shape = swapped.shape();
  shape[shape.rank() - 2] *= shape.back();
  shape.erase(shape.rank() - 1);
  return reshape(swapped, shape);
}

void check_input(const std::string& name, std::string_view argument, const Tensor& x, std::int64_t dim) {
  check_rank(name, argument, x, 2, Shape::max_rank - 1);
  if (x.shape().back() == dim) return;
  fail<ShapeError>(name, fmt::format("{} has the wrong width", argument), describe(x),
                   fmt::format("embed_dim, {}, as the last size", dim));
}

// [.., H, Tq, Tk], true with probability 1 − p.
Tensor keep_mask(const Tensor& query, const Tensor& key, double p, Generator& generator) {
  Shape shape = query.shape();
  shape[shape.rank() - 1] = key.size(-2);
  return ge(rand(shape, generator), p);
}

bool same(const Tensor& a, const Tensor& b) { return a.impl() == b.impl(); }

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options, Generator& generator)
    : Module("MultiHeadAttention"),
      qkv({checked(options).embed_dim, 3 * options.embed_dim, options.bias}, generator),
      out({options.embed_dim, options.embed_dim, options.bias}, generator),
      options_(options) {
  name_children();
}

MultiHeadAttention MultiHeadAttention::clone() const {
  Generator generator;
  MultiHeadAttention copy(options_, generator);
  copy.adopt(*this);
  return copy;
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                      Generator* generator) const {
  return attend(x, x, x, mask, generator, false).output;
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionMask& mask, Generator* generator) const {
  return attend(query, key, value, mask, generator, false).output;
}

AttentionWeights MultiHeadAttention::with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const AttentionMask& mask, Generator* generator) const {
  return attend(query, key, value, mask, generator, true);
}

// One product where query, key and value are one tensor; otherwise each takes
// its rows of the packed weight.
MultiHeadAttention::Heads MultiHeadAttention::project(const Tensor& query, const Tensor& key,
                                                      const Tensor& value) const {
  const std::int64_t dim = options_.embed_dim;
  const std::int64_t heads = options_.num_heads;
  if (same(query, key) && same(key, value)) {
    const std::vector<Tensor> parts = split(qkv(query), dim, -1);
    return {split_heads(parts[0], heads), split_heads(parts[1], heads), split_heads(parts[2], heads)};
  }
  const auto rows = [&](const Tensor& x, std::int64_t part) {
    const Tensor weight = narrow(qkv.weight, 0, part * dim, dim);
    const Tensor bias = qkv.bias.defined() ? narrow(qkv.bias, 0, part * dim, dim) : Tensor();
    return split_heads(linear(x, weight, bias), heads);
  };
  return {rows(query, 0), rows(key, 1), rows(value, 2)};
}

AttentionWeights MultiHeadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const AttentionMask& mask, Generator* generator,
                                            bool need_weights) const {
  const Scope scope(name());
  check_input(name(), "query", query, options_.embed_dim);
  check_input(name(), "key", key, options_.embed_dim);
  check_input(name(), "value", value, options_.embed_dim);
  const Heads heads = project(query, key, value);
  AttentionOptions options;
  options.mask = mask;
  options.need_weights = need_weights;
  if (training() && options_.dropout > 0) {
    options.dropout = options_.dropout;
    options.dropout_keep = keep_mask(heads.query, heads.key, options_.dropout,
                                     need_generator(name(), options_.dropout, generator));
  }
  const AttentionResult result = attention(heads.query, heads.key, heads.value, options);
  return {out(merge_heads(result.output)), result.weights};
}

void MultiHeadAttention::visit(MemberVisitor& visitor) {
  visitor.child("qkv", qkv);
  visitor.child("out", out);
}

}  // namespace heed::nn
