#include <heed/core/custom_op.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/concat.h>
#include <heed/ops/einsum.h>
#include <heed/ops/gather.h>
#include <heed/ops/matmul.h>
#include <heed/ops/pad.h>
#include <heed/ops/prod.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>
#include <heed/ops/where.h>

#include "zoo.h"

// Sequences that are shifted, reversed, or mixed by other means than attention.
namespace heed::test::zoo {
namespace {

using check::IsolationFinding;

// One output row alone hears the token behind it.
Tensor one_row(const Tensor& x, std::int64_t row) {
  const std::int64_t after = x.size(1) - row - 1;
  return x + pad(narrow(x, 1, row + 1, 1), {0, row, 0}, {0, after, 0});
}

Tensor peeking_network(const Tensor& x) {
  const Tensor of_input = parameter(width, width, 8);
  Tensor state = zeros({samples, width}, DType::f64);
  std::vector<Tensor> states;
  for (std::int64_t t = 0; t < positions; ++t) {
    const Tensor seen = add(select(x, 1, t), select(x, 1, std::min(t + 1, positions - 1)));
    state = tanh(add(matmul(seen, of_input), state));
    states.push_back(state);
  }
  return stack(states, 1);
}

std::vector<Leaky> shifts() {
  std::vector<Leaky> models;
  models.push_back({"shifted by one and added", [](const Tensor& x) { return x + earlier(x); }, "slice"});
  models.push_back({"shifted by one", earlier, "slice"});
  models.push_back(
      {"shifted far", [](const Tensor& x) { return x + earlier(earlier(earlier(x))); }, "slice"});
  models.push_back({"a convolution of both sides",
                    [](const Tensor& x) { return relu(add(later(x), earlier(dense(x)))); }, "slice"});
  models.push_back({"rolled", [](const Tensor& x) { return x + roll(x, {1}, {1}); }, "narrow"});
  models.push_back({"one row alone", [](const Tensor& x) { return one_row(x, 3); }, "narrow"});
  models.push_back({"gathered from the next",
                    [](const Tensor& x) {
                      return x + index_select(x, 1, tensor<std::int64_t>({1, 2, 3, 4, 5, 5}));
                    },
                    "index_select"});
  models.push_back({"added to the one before",
                    [](const Tensor& x) {
                      return index_add(x, 1, tensor<std::int64_t>({0, 0, 1, 2, 3, 4}), x);
                    },
                    "sum_rows"});
  models.push_back({"a network that peeks", peeking_network, "add"});
  return models;
}

std::vector<Leaky> reversals() {
  std::vector<Leaky> models;
  models.push_back({"reversed", [](const Tensor& x) { return flip(x, {1}); }, "flip"});
  models.push_back({"reversed and added", [](const Tensor& x) { return x + flip(x, {1}); }, "flip"});
  models.push_back(
      {"sums from behind", [](const Tensor& x) { return flip(cumsum(flip(x, {1}), 1), {1}); }, "cumsum"});
  models.push_back({"half of the channels from behind",
                    [](const Tensor& x) {
                      const auto halves = split(x, width / 2, 2);
                      return concat({halves[0], flip(cumsum(flip(halves[1], {1}), 1), {1})}, 2);
                    },
                    "cumsum"});
  return models;
}

std::vector<Leaky> products() {
  const Tensor mixing = parameter(positions, positions);
  std::vector<Leaky> models;
  models.push_back({"a full matrix over time", [=](const Tensor& x) { return matmul(mixing, x); }, "matmul"});
  models.push_back(
      {"an upper triangle over time", [=](const Tensor& x) { return matmul(triu(mixing), x); }, "matmul"});
  models.push_back({"einsum over time",
                    [=](const Tensor& x) {
                      return einsum("ts,bsc->btc", {mixing, x});
                    },
                    "matmul"});
  models.push_back({.name = "channels and positions mistaken",
                    .model = [=](const Tensor& x) { return matmul(x, parameter(positions, positions)); },
                    .op = "matmul",
                    .x = transpose(sequence()),
                    .options = {.time_axis = 2}});
  models.push_back({"a weight of one in a million",
                    [=](const Tensor& x) { return x + 1e-6 * matmul(mixing, x); }, "matmul"});
  models.push_back(
      {"scores for weights", [](const Tensor& x) { return matmul(matmul(x, transpose(x)), x); }, "matmul"});
  return models;
}

std::vector<Leaky> hidden() {
  std::vector<Leaky> models;
  models.push_back({"only large values", [](const Tensor& x) { return x + relu(earlier(x) - 50.0); }, "relu",
                    IsolationFinding::value});
  models.push_back({"detached", [](const Tensor& x) { return x + sum(x.detach(), {1}, true); }, "add",
                    IsolationFinding::value});
  models.push_back({"compared with the next",
                    [](const Tensor& x) { return where(gt(earlier(x.detach()), 0), x, x * 2.0); }, "where",
                    IsolationFinding::value});
  models.push_back({"a custom operation that hides its gradient",
                    [](const Tensor& x) {
                      return x + custom_op(
                                     "pooled", {x}, [&](CustomSave&) { return mean(x, {1}, true); },
                                     [](CustomVjp& c) {
                                       c.set(0, zeros({samples, positions, width}, DType::f64));
                                     });
                    },
                    "pooled", IsolationFinding::value});
  models.push_back({"a custom operation that does not",
                    [](const Tensor& x) {
                      return x +
                             custom_op(
                                 "pooled", {x}, [&](CustomSave&) { return sum(x, {1}, true); },
                                 [](CustomVjp& c) {
                                   c.set(0, c.cotangent() + zeros({samples, positions, width}, DType::f64));
                                 });
                    },
                    "pooled"});
  models.push_back({"only the derivative",
                    [](const Tensor& x) {
                      const Tensor total = sum(x, {1}, true);
                      return x + (total - total.detach());
                    },
                    "sum"});
  return models;
}

}  // namespace

std::vector<Leaky> leaky_mixers() {
  std::vector<Leaky> all;
  for (auto part : {shifts(), reversals(), products(), hidden()}) {
    for (Leaky& model : part) all.push_back(std::move(model));
  }
  return all;
}

}  // namespace heed::test::zoo
