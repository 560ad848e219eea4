// How modules list their members: kinds by type, names, buffers.

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/scope.h>
#include <heed/nn/linear.h>
#include <heed/nn/mlp.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>

using Catch::Contains;
using heed::DType;
using heed::Generator;
using heed::Tensor;
using heed::nn::Buffer;
using heed::nn::Linear;
using heed::nn::NamedTensors;

namespace {

using Names = std::vector<std::string>;

Names names(const NamedTensors& tensors) {
  Names result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

// A member of every kind.
class Everything final : public heed::nn::Module {
 public:
  explicit Everything(Generator& generator)
      : Module("Everything"),
        weight(heed::ones({2}).set_requires_grad()),
        mean(heed::zeros({2})),
        steps(heed::scalar<std::int64_t>(0)),
        first({2, 2, false}, generator) {
    layers.emplace_back(heed::nn::LinearOptions{2, 2, false}, generator);
    layers.emplace_back(heed::nn::LinearOptions{2, 2, true}, generator);
    gains.push_back(heed::ones({2}).set_requires_grad());
    here.emplace(heed::nn::LinearOptions{2, 2, false}, generator);
  }
  Tensor operator()(const Tensor& x) const {
    const heed::Scope scope = enter();
    Tensor y = first((x - mean) * weight);
    for (const Linear& layer : layers) y = layer(y);
    return (*here)(y)*gains[0];
  }

  Tensor weight;
  Tensor absent;
  Buffer mean;
  Buffer steps;
  Linear first;
  std::vector<Linear> layers;
  std::vector<Tensor> gains;
  std::optional<Linear> here;
  std::optional<Linear> missing;

 protected:
  HEED_MEMBERS(steps, weight, absent, named("running, (mean)", mean), first, layers, gains, here, missing)
};

class ByHand final : public heed::nn::Module {
 public:
  explicit ByHand(Generator& generator)
      : Module("ByHand"), scale(heed::ones({2}).set_requires_grad()), inner({2, 2, true}, generator) {}

 protected:
  void visit(heed::nn::MemberVisitor& visitor) override {
    visitor.parameter("gamma", scale);
    visitor.buffer("table", table);
    visitor.child("in", inner);
    visitor.member("out_bias", inner.bias);  // a tie
  }

 private:
  Tensor scale;
  Buffer table = heed::zeros({1});
  Linear inner;
};

class WithoutMembers final : public heed::nn::Module {
 public:
  WithoutMembers() : Module("WithoutMembers") {}

 protected:
  HEED_MEMBERS()
};

}  // namespace

TEST_CASE("a list of members tells their kinds by type") {
  Generator generator(1);
  const Everything module(generator);
  CHECK(names(module.named_parameters()) == Names{"weight", "first.weight", "layers.0.weight",
                                                  "layers.1.weight", "layers.1.bias", "gains.0",
                                                  "here.weight"});
  CHECK(names(module.named_buffers()) == Names{"steps", "running, (mean)"});
  CHECK(module.parameter_count() == 2 + 4 + 4 + 4 + 2 + 2 + 4);
  CHECK(WithoutMembers().named_parameters().empty());
}

TEST_CASE("members may be listed by hand, under any name") {
  Generator generator(1);
  const ByHand module(generator);
  CHECK(names(module.named_parameters()) == Names{"gamma", "in.weight", "in.bias"});
  CHECK(names(module.named_buffers()) == Names{"table"});
}

TEST_CASE("children are named by the first call or walk, in several threads too") {
  Generator generator(1);
  const Everything called(generator);
  std::vector<std::string> paths(4);
  std::vector<std::thread> threads;
  for (std::string& path : paths) {
    threads.emplace_back([&] {
      called(heed::ones({1, 2}));
      path = called.layers[1].name() + " " + called.here->name();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(paths == std::vector<std::string>(4, "layers.1 here"));
  const Everything walked(generator);
  CHECK(walked.first.name() == "Linear");
  CHECK(walked.named_parameters().size() == 7);
  CHECK(walked.first.name() == "first");
}

TEST_CASE("buffers are saved after the parameters, loaded and converted, and not trained") {
  Generator generator(1);
  Everything module(generator);
  const NamedTensors state = module.state_dict();
  CHECK(state.size() == 7 + 2);
  CHECK(state[7].first == "steps");
  CHECK(state[8].first == "running, (mean)");
  CHECK(state[8].second.storage().get() == module.mean.storage().get());
  NamedTensors other;
  for (const auto& [name, tensor] : state) other.emplace_back(name, heed::copy_of(tensor));
  other[7].second.fill_(5);
  other[8].second.fill_(0.5);
  const Tensor handle = module.mean;
  module.load_state_dict(other);
  CHECK(module.steps.item<std::int64_t>() == 5);
  CHECK(handle.to_vector<float>() == std::vector<float>{0.5, 0.5});
  other.pop_back();
  CHECK_THROWS_WITH(module.load_state_dict(other), Contains("'running, (mean)' is missing"));

  heed::backward(heed::sum(module(heed::ones({1, 2}))));
  module.zero_grad();
  module.to(DType::f64);
  CHECK(handle.to_vector<double>() == std::vector<double>{0.5, 0.5});
  CHECK_FALSE(module.mean.requires_grad());
  CHECK(module.steps.dtype() == DType::i64);
  CHECK(module(heed::ones({1, 2}, DType::f64)).dtype() == DType::f64);
}

TEST_CASE("buffers stay where they are when parameters are replaced") {
  Generator generator(1);
  Everything module(generator);
  std::vector<Tensor> parameters;
  for (const auto& [name, tensor] : module.named_parameters()) parameters.push_back(heed::copy_of(tensor));
  const Tensor mean = module.mean;
  module.replace_parameters(parameters);
  CHECK(module.mean.impl() == mean.impl());
  CHECK(module.here->weight.impl() == parameters.back().impl());
}
