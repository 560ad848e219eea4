// Training runs: losses and weights along the way.

#include <algorithm>
#include <functional>

#include <heed/core/backward.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/concat.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/embedding.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

#include "make_optimizer.h"
#include "tables.h"

namespace heed::conformance {
namespace {

/// The inputs that are trained, as leaves of their own memory.
class Weights {
 public:
  Weights(const Call& call, const std::vector<std::string>& fixed) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const bool trained = std::find(fixed.begin(), fixed.end(), call.names[i]) == fixed.end();
      if (trained) named_.emplace_back(call.names[i], clone(call.at(i)).set_requires_grad());
    }
  }
  Tensor operator[](const std::string& name) const {
    for (const auto& [path, weight] : named_) {
      if (path == name) return weight;
    }
    return {};
  }
  const nn::NamedTensors& named() const { return named_; }
  void zero_grad() {
    for (auto& [path, weight] : named_) weight.zero_grad();
  }

 private:
  nn::NamedTensors named_;
};

/// losses [steps], each before its step, then the weights after the last one in
/// the order of the outputs.
Tensors train(const Call& call, Weights& weights, const std::function<Tensor()>& loss_of) {
  const std::function<void()> step = make_optimizer(call, weights.named());
  Tensors losses;
  for (std::int64_t i = 0; i < call.attributes.integer("steps"); ++i) {
    weights.zero_grad();
    const Tensor loss = loss_of();
    losses.push_back(loss.detach());
    backward(loss);
    step();
  }
  Tensors results;
  for (const std::string& name : call.outputs) {
    const std::string prefix = "final.";
    const bool is_weight = name.starts_with(prefix);
    results.push_back(is_weight ? weights[name.substr(prefix.size())].detach()
                                : stack(std::span<const Tensor>(losses), 0));
  }
  return results;
}

/// p'Ap/2 − b'p:  path [steps, n] after each step, gradients [steps, n] as met
/// before it.
Tensors optimizer_path(const Call& call) {
  Weights weights(call, {"matrix", "shift"});
  const Tensor p = weights["p"];
  const std::function<void()> step = make_optimizer(call, weights.named());
  Tensors path;
  Tensors gradients;
  for (std::int64_t i = 0; i < call.attributes.integer("steps"); ++i) {
    weights.zero_grad();
    const Tensor curve = mul(sum(mul(p, matmul(call.named("matrix"), p))), 0.5);
    backward(sub(curve, sum(mul(call.named("shift"), p))));
    gradients.push_back(clone(p.grad()));
    step();
    path.push_back(clone(p).detach());
  }
  Tensors results;
  for (const std::string& name : call.outputs) {
    results.push_back(stack(std::span<const Tensor>(name == "path" ? path : gradients), 0));
  }
  return results;
}

Tensor activate(const Call& call, const Tensor& x) {
  const std::string name = call.attributes.text("activation", "tanh");
  if (name == "tanh") return tanh(x);
  if (name == "relu") return relu(x);
  if (name == "gelu") return gelu(x);
  throw Skip("train_mlp: activation '" + name + "' is not known");
}

Tensors train_mlp(const Call& call) {
  Weights w(call, {"x", "target"});
  return train(call, w, [&] {
    const Tensor hidden = activate(call, linear(call.named("x"), w["w1"], w["b1"]));
    return cross_entropy(linear(hidden, w["w2"], w["b2"]), call.named("target"));
  });
}

/// x [B, L, E] + causal self-attention of its norm.
Tensor attend(const Tensor& x, const Tensor& h, const Tensor& w_qkv, const Tensor& w_out,
              std::int64_t heads) {
  const std::int64_t width = x.size(-1) / heads;
  const Tensor parts =
      permute(reshape(linear(h, w_qkv), {x.size(0), x.size(1), 3, heads, width}), {2, 0, 3, 1, 4});
  AttentionOptions options;
  options.mask = AttentionMask::causal();
  const Tensor y = attention(select(parts, 0, 0), select(parts, 0, 1), select(parts, 0, 2), options).output;
  return add(x, linear(reshape(transpose(y, 1, 2), x.shape()), w_out));
}

Tensors train_transformer(const Call& call) {
  Weights w(call, {"ids"});
  const Tensor ids = call.named("ids");
  const std::int64_t length = ids.size(1) - 1;
  const std::int64_t layers = call.attributes.integer("layers", 2);
  const std::int64_t heads = call.attributes.integer("heads");
  const double epsilon = call.attributes.real("eps_norm", 1e-5);
  return train(call, w, [&] {
    Tensor x = add(embedding(w["tokens"], narrow(ids, 1, 0, length)), w["places"]);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::string at = "l" + std::to_string(layer) + ".";
      const auto normed = [&](const std::string& weight) {
        return rms_norm(x, {x.size(-1)}, w[at + weight], epsilon);
      };
      x = attend(x, normed("norm1"), w[at + "w_qkv"], w[at + "w_out"], heads);
      const Tensor up = gelu(linear(normed("norm2"), w[at + "w_up"]), Gelu::tanh);
      x = add(x, linear(up, w[at + "w_down"]));
    }
    const Tensor logits = reshape(linear(x, w["tokens"]), {x.size(0) * length, w["tokens"].size(0)});
    return cross_entropy(logits, reshape(narrow(ids, 1, 1, length), {x.size(0) * length}));
  });
}

}  // namespace

void add_torch_runs(Table& table) {
  table["optimizer"] = optimizer_path;
  table["train_mlp"] = train_mlp;
  table["train_transformer"] = train_transformer;
}

}  // namespace heed::conformance
