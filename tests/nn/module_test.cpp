#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/scope.h>
#include <heed/nn/clone.h>
#include <heed/nn/eval_mode.h>
#include <heed/nn/linear.h>
#include <heed/nn/mlp.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>

using Catch::Contains;
using heed::Generator;
using heed::Tensor;
using heed::nn::Linear;
using heed::nn::NamedTensors;

namespace {

// Two layers that share one weight, and a parameter of its own.
class Tied final : public heed::nn::Module {
 public:
  explicit Tied(Generator& generator)
      : Module("Tied"), first({2, 2, false}, generator), second({2, 2, true}, generator) {
    second.weight = first.weight;
    gain = heed::ones({2}).set_requires_grad();
  }
  Tensor operator()(const Tensor& x) const {
    const heed::Scope scope = enter();
    return second(first(x)) * gain;
  }

  Linear first;
  Linear second;
  Tensor gain;

 protected:
  HEED_MEMBERS(first, second, gain)
};

struct StrangersError : heed::Error {
  using heed::Error::Error;
};

// Goes wrong in the way it is told to.
class Faulty final : public heed::nn::Module {
 public:
  explicit Faulty(Generator& generator) : Module("Faulty"), attention({3, 2}, generator) {}
  Tensor operator()(const Tensor& x, int way) const {
    const heed::Scope scope = enter();
    if (way == 1) throw StrangersError("a model of one's own objects");
    if (way == 2) throw std::out_of_range("not of heed");
    return attention(x);
  }
  Linear attention;

 protected:
  HEED_MEMBERS(attention)
};

class Outer final : public heed::nn::Module {
 public:
  explicit Outer(Generator& generator) : Module("Outer") {
    for (int i = 0; i < 4; ++i) blocks.emplace_back(generator);
  }
  Tensor operator()(const Tensor& x, int way) const {
    const heed::Scope scope = enter();
    return blocks[3](x, way);
  }
  std::vector<Faulty> blocks;

 protected:
  HEED_MEMBERS(blocks)
};

std::vector<std::string> names(const NamedTensors& tensors) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result.emplace_back(name, heed::copy_of(tensor));
  return result;
}

std::string complaint(heed::nn::Module& module, const NamedTensors& state) {
  try {
    module.load_state_dict(state);
  } catch (const heed::ValueError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("parameters are named by their path, tied ones once", "[report-40]") {
  Generator generator(1);
  const Tied module(generator);
  CHECK(names(module.named_parameters()) == std::vector<std::string>{"first.weight", "second.bias", "gain"});
  CHECK(names(module.state_dict()) == names(module.named_parameters()));
  CHECK(module.parameter_count() == 4 + 2 + 2);
  CHECK_FALSE(module.state_dict()[0].second.requires_grad());
}

TEST_CASE("the gradient of a tied weight is the sum of both uses", "[report-40]") {
  Generator generator(1);
  Tied module(generator);
  {
    const heed::NoGrad guard;
    module.first.weight.copy_(heed::tensor({1.f, 2.f, 3.f, 4.f}, {2, 2}));
  }
  // y = W W x: with x = e0 and cotangent e0, d/dW = e0 (W x)ᵀ + (Wᵀ e0) xᵀ
  const Tensor y = module(heed::tensor({1.f, 0.f}, {1, 2}));
  heed::backward(y, {.cotangent = heed::tensor({1.f, 0.f}, {1, 2})});
  CHECK(module.second.weight.grad().to_vector<float>() == std::vector<float>{1 + 1, 3, 2, 0});
}

TEST_CASE("ties outlive loading, cloning and conversion", "[report-40]") {
  Generator generator(1);
  Tied module(generator);
  const auto tied = [](Tied& m) {
    const heed::NoGrad guard;
    m.first.weight.fill_(0.25);
    const bool same = m.first.weight.impl() == m.second.weight.impl();
    return same && m.second.weight.dtype() == m.first.weight.dtype();
  };
  NamedTensors state = copies(module.state_dict());
  {
    const heed::NoGrad guard;
    state[0].second.fill_(7);
  }
  module.load_state_dict(state);
  CHECK(module.second.weight.to_vector<float>() == std::vector<float>(4, 7.f));
  CHECK(tied(module));
  Tied copy = clone(module);
  CHECK(tied(copy));
  CHECK(copy.first.weight.impl() != module.first.weight.impl());
  module.to(heed::DType::f64);
  CHECK(tied(module));
  Tied moved = std::move(module);
  CHECK(tied(moved));
}

TEST_CASE("a strict load lists every problem and changes nothing", "[report-41]") {
  Generator generator(1);
  Tied module(generator);
  const auto before = module.first.weight.to_vector<float>();
  const auto with = [&](std::size_t index, const Tensor& value) {
    NamedTensors state = copies(module.state_dict());
    state[0].second.fill_(9);
    state[index].second = value;
    return complaint(module, state);
  };
  CHECK_THAT(with(1, heed::zeros({1})), Contains("'second.bias' is f32[1], the module has f32[2]"));
  CHECK_THAT(with(1, heed::scalar(1.f)), Contains("'second.bias' is f32[], the module has f32[2]"));
  CHECK_THAT(with(1, heed::zeros({32000})), Contains("f32[32000], the module has f32[2]"));
  CHECK_THAT(with(1, heed::zeros({2, 1})), Contains("f32[2, 1], the module has f32[2]"));
  CHECK_THAT(with(1, heed::zeros({2}, heed::DType::f64)), Contains("f64[2], the module has f32[2]"));
  CHECK_THAT(with(1, Tensor()), Contains("'second.bias' is undefined"));
  const auto all = complaint(module, {{"first.weight", heed::zeros({1, 2})},
                                      {"extra", heed::zeros({1})},
                                      {"gain", heed::zeros({2})},
                                      {"gain", heed::zeros({2})}});
  CHECK_THAT(all, Contains("'first.weight' is f32[1, 2], the module has f32[2, 2]") &&
                      Contains("'second.bias' is missing, the module has f32[2]") &&
                      Contains("'extra' is not in the module") && Contains("'gain' is given twice"));
  CHECK(module.first.weight.to_vector<float>() == before);
}

TEST_CASE("the modes reach every child and a guard restores them") {
  Generator generator(1);
  Tied module(generator);
  CHECK(module.training());
  module.eval();
  CHECK_FALSE(module.second.training());
  CHECK_FALSE(clone(module).second.training());
  module.train();
  CHECK(module.first.training());
  {
    const heed::nn::EvalMode guard(module);
    CHECK_FALSE(module.first.training());
  }
  CHECK(module.first.training());
  module.second.eval();
  { const heed::nn::EvalMode guard(module); }
  CHECK(module.training());
  CHECK(module.first.training());
  CHECK_FALSE(module.second.training());
}

TEST_CASE("conversion keeps values, gradients and handles") {
  Generator generator(1);
  Linear module({2, 1, true}, generator);
  const Tensor handle = module.weight;
  const auto values = module.weight.to_vector<float>();
  heed::backward(heed::sum(module(heed::tensor({3.f, 5.f}, {1, 2}))));
  module.to(heed::DType::f64);
  CHECK(handle.dtype() == heed::DType::f64);
  CHECK(handle.to_vector<double>() == std::vector<double>(values.begin(), values.end()));
  CHECK(handle.grad().to_vector<double>() == std::vector<double>{3, 5});
  CHECK(module(heed::tensor({1.0, 1.0}, {1, 2})).dtype() == heed::DType::f64);
  CHECK_THROWS_AS(module.to(heed::DType::i64), heed::DTypeError);
  module.zero_grad();
  CHECK_FALSE(handle.grad().defined());
}

TEST_CASE("a module is a function of parameters put in their place") {
  Generator generator(1);
  Tied module(generator);
  const Tensor weight = heed::tensor({2.f, 0.f, 0.f, 2.f}, {2, 2}).set_requires_grad();
  const std::vector<Tensor> values = {weight, heed::zeros({2}), heed::ones({2})};
  module.replace_parameters(values);
  const Tensor y = module(heed::tensor({1.f, 3.f}, {1, 2}));
  CHECK(y.to_vector<float>() == std::vector<float>{4, 12});
  CHECK(module.second.weight.impl() == weight.impl());
  CHECK_THROWS_WITH(module.replace_parameters(std::vector<Tensor>{weight}), Contains("1; expected 3"));
  CHECK_THROWS_AS(module.replace_parameters(std::vector<Tensor>{heed::zeros({2}), values[1], values[2]}),
                  heed::ShapeError);
  CHECK_THROWS_AS(
      module.replace_parameters(std::vector<Tensor>{weight, heed::zeros({2}, heed::DType::f64), values[2]}),
      heed::DTypeError);
}

TEST_CASE("errors and nodes carry the path of the module") {
  Generator generator(1);
  const heed::nn::MLP module({.dim = 2, .hidden = 3}, generator);
  const Tensor y = module(heed::zeros({1, 2}));
  REQUIRE(y.requires_grad());
  CHECK(y.impl()->node->scope() != nullptr);
  CHECK(y.impl()->node->scope()->path() == "MLP.down");
  CHECK(module.up.name() == "up");
}

TEST_CASE("an error says in which module it happened, whoever threw it", "[fault-46]") {
  Generator generator(1);
  const Outer model(generator);
  const auto error_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const heed::Error& error) {
      CHECK_THAT(error.what(), Catch::EndsWith(" (in module " + error.module() + ")"));
      return error.module();
    }
    return "no error";
  };
  CHECK(error_of([&] { model(heed::zeros({2, 5}), 0); }) == "Outer.blocks.3.attention");
  CHECK_THROWS_AS(model(heed::zeros({2, 5}), 0), heed::ShapeError);
  CHECK_THROWS_MATCHES(model(heed::zeros({2, 3}), 1), StrangersError,
                       Catch::Message("a model of one's own objects (in module Outer.blocks.3)"));
  CHECK_THROWS_MATCHES(model(heed::zeros({2, 3}), 2), std::out_of_range, Catch::Message("not of heed"));
  CHECK(heed::ValueError("outside").module().empty());
}

TEST_CASE("an error in backward says in which module the operation stood", "[fault-46]") {
  Generator generator(1);
  const Outer model(generator);
  Tensor x = heed::ones({2, 3});
  const Tensor y = heed::sum(model(x, 0));
  x.fill_(2);
  try {
    heed::backward(y);
    FAIL("the overwritten operand was taken");
  } catch (const heed::GradError& error) {
    CHECK_THAT(error.what(), Contains("overwritten before backward"));
    CHECK(error.module() == "Outer.blocks.3.attention");
  }
}
