#include "plain_attention.h"

#include <algorithm>
#include <cmath>

namespace heed::test {
namespace {

using Values = std::vector<double>;
using Index = std::int64_t;

Values values_of(const Tensor& x) { return x.defined() ? x.to_vector<double>() : Values(); }
std::size_t at(Index i) { return static_cast<std::size_t>(i); }

struct Affine {
  Values weight;  // [.., in]
  Values bias;    // empty: none
  Index in;
  Index first_weight_row = 0;
  Index first_bias_row = 0;

  double operator()(const Values& x, Index row, Index channel) const {
    double y = bias.empty() ? 0 : bias[at(first_bias_row + channel)];
    for (Index c = 0; c < in; ++c) {
      y += x[at(row * in + c)] * weight[at((first_weight_row + channel) * in + c)];
    }
    return y;
  }
};

// One head at one position.
Values head_row(const Affine& affine, const Values& x, Index row, Index head, Index dim) {
  Values y;
  for (Index c = 0; c < dim; ++c) y.push_back(affine(x, row, head * dim + c));
  return y;
}

void normalise(Values& x, const std::optional<nn::Norm>& maybe) {
  if (!maybe) return;
  const nn::Norm& norm = *maybe;
  const bool centred = norm.options().kind == nn::NormKind::layer;
  const double count = static_cast<double>(x.size());
  double mean = 0;
  for (const double v : x) mean += centred ? v / count : 0;
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / count;
  const double epsilon = *norm.options().epsilon;
  const Values weight = values_of(norm.weight);
  const Values bias = values_of(norm.bias);
  for (std::size_t c = 0; c < x.size(); ++c) {
    x[c] = (x[c] - mean) / std::sqrt(variance + epsilon) * weight[c] + (bias.empty() ? 0 : bias[c]);
  }
}

void rotate(Values& x, Index position, const std::optional<RopeOptions>& rope) {
  if (!rope) return;
  const std::size_t rotary = rope->rotary == 0 ? x.size() : at(rope->rotary);
  for (std::size_t k = 0; k < rotary / 2; ++k) {
    const bool pairs = rope->layout == RopeLayout::interleaved;
    double& a = x[pairs ? 2 * k : k];
    double& b = x[pairs ? 2 * k + 1 : k + rotary / 2];
    const double angle = static_cast<double>(position) *
                         std::pow(rope->base, -2.0 * static_cast<double>(k) / static_cast<double>(rotary));
    const double rotated = a * std::cos(angle) - b * std::sin(angle);
    b = a * std::sin(angle) + b * std::cos(angle);
    a = rotated;
  }
}

struct Key {
  Values key, value;
};

// Softmax-weighted sum of the values of `keys`.
Values attended(const Values& q, const std::vector<Key>& keys, double scale, double cap, const double* sink) {
  Values exponentials;
  double z = sink ? std::exp(*sink) : 0;
  for (const Key& key : keys) {
    double s = 0;
    for (std::size_t c = 0; c < q.size(); ++c) s += scale * q[c] * key.key[c];
    if (cap > 0) s = cap * std::tanh(s / cap);
    exponentials.push_back(std::exp(s));
    z += exponentials.back();
  }
  Values y(q.size(), 0.0);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    for (std::size_t c = 0; c < y.size(); ++c) y[c] += exponentials[j] / z * keys[j].value[c];
  }
  return y;
}

Values slice_of(const Values& x, Index head, Index dim) {
  return Values(x.begin() + head * dim, x.begin() + (head + 1) * dim);
}

// The module's numbers, and one head of one position at a time.
class Plain {
 public:
  explicit Plain(const nn::MultiHeadAttention& layer)
      : layer_(layer),
        o_(layer.options()),
        to_q_(part(layer.qkv.q_weight, o_.embed_dim, 0)),
        to_k_(part(layer.qkv.k_weight, o_.kdim, o_.num_heads * o_.head_dim)),
        to_v_(part(layer.qkv.v_weight, o_.vdim, (o_.num_heads + o_.num_kv_heads) * o_.head_dim)),
        to_y_{values_of(layer.out.weight), values_of(layer.out.bias), o_.num_heads * o_.head_dim},
        sink_(values_of(layer.sink)) {}

  Values query(const Values& x, Index row, Index head, Index position) const {
    Values q = head_row(to_q_, x, row, head, o_.head_dim);
    normalise(q, layer_.q_norm);
    rotate(q, position, o_.rope);
    return q;
  }
  Key key(const Values& k, const Values& v, Index row, Index head, Index position) const {
    Key result{head_row(to_k_, k, row, head, o_.head_dim), head_row(to_v_, v, row, head, o_.head_dim)};
    normalise(result.key, layer_.k_norm);
    rotate(result.key, position, o_.rope);
    return result;
  }
  bool in_window(Index position, Index j) const {
    return (o_.window_left < 0 || j >= position - o_.window_left) &&
           (o_.window_right < 0 || j <= position + o_.window_right);
  }
  void add_extra_keys(std::vector<Key>& keys, Index head) const {
    const Index dim = o_.head_dim;
    if (o_.add_bias_kv) {
      keys.push_back(
          {slice_of(values_of(layer_.bias_k), head, dim), slice_of(values_of(layer_.bias_v), head, dim)});
    }
    if (o_.add_zero_attn) keys.push_back({Values(at(dim), 0.0), Values(at(dim), 0.0)});
  }
  Values attend(const Values& q, const std::vector<Key>& keys, Index head) const {
    const double scale = o_.scale.value_or(1 / std::sqrt(static_cast<double>(o_.head_dim)));
    return attended(q, keys, scale, o_.softcap, o_.sink ? &sink_[at(head)] : nullptr);
  }
  void append_output(Values& y, const Values& heads) const {
    for (Index c = 0; c < o_.embed_dim; ++c) y.push_back(to_y_(heads, 0, c));
  }

 private:
  Affine part(const Tensor& own, Index in, Index first) const {
    const bool packed = layer_.qkv.packed();
    return {values_of(packed ? layer_.qkv.weight : own), values_of(layer_.qkv.bias), in, packed ? first : 0,
            first};
  }

  const nn::MultiHeadAttention& layer_;
  const nn::MultiHeadAttentionOptions& o_;
  Affine to_q_, to_k_, to_v_, to_y_;
  Values sink_;
};

}  // namespace

std::vector<double> plain_attention(const nn::MultiHeadAttention& layer, const Tensor& query,
                                    const Tensor& key, const Tensor& value, const Open& open) {
  const Plain plain(layer);
  const Values xq = values_of(query);
  const Values xk = values_of(key);
  const Values xv = values_of(value);
  const Index queries = query.size(1);
  const Index keys = key.size(1);
  const Index group = layer.options().num_heads / layer.options().num_kv_heads;
  Values y;
  for (Index row = 0; row < query.size(0) * queries; ++row) {
    const Index b = row / queries;
    const Index i = row % queries;
    const Index position = keys - queries + i;
    Values heads;
    for (Index h = 0; h < layer.options().num_heads; ++h) {
      std::vector<Key> seen;
      for (Index j = 0; j < keys; ++j) {
        if (plain.in_window(position, j) && open(b, i, j)) {
          seen.push_back(plain.key(xk, xv, b * keys + j, h / group, j));
        }
      }
      plain.add_extra_keys(seen, h / group);
      const Values head = plain.attend(plain.query(xq, row, h, position), seen, h);
      heads.insert(heads.end(), head.begin(), head.end());
    }
    plain.append_output(y, heads);
  }
  return y;
}

}  // namespace heed::test
