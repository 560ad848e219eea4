#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/random.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/blocked.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/sum.h>

#include "../../support/attention_reference.h"

using namespace heed;
using namespace heed::test;

namespace {

Function attend_with(AttentionOptions options) {
  return [options](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{attention(x[0], x[1], x[2], options).output};
  };
}

Reference reference_with(AttentionReference r) {
  return [r](const std::vector<Array>& in) { return attention_reference(in[0], in[1], in[2], r); };
}

AttentionReference causal_reference(std::int64_t shift) {
  AttentionReference r;
  r.open = [shift](std::int64_t i, std::int64_t j) { return j <= i + shift; };
  return r;
}

AttentionReference windowed_reference() {
  AttentionReference r;
  r.open = [](std::int64_t i, std::int64_t j) { return j >= i - 1 && j <= i + 2; };
  return r;
}

AttentionReference softcap_reference() {
  AttentionReference r = causal_reference(0);
  r.softcap = 1.5;
  r.scale = -0.7;
  return r;
}

const std::vector<Input> self{{{2, 2, 5, 3}}, {{2, 2, 5, 3}}, {{2, 2, 5, 4}}};
const std::vector<Input> grouped{{{1, 4, 3, 2}}, {{1, 2, 6, 2}}, {{1, 2, 6, 3}}};

std::vector<Input> with(std::vector<Input> inputs, Input last) {
  inputs.push_back(std::move(last));
  return inputs;
}

const Registration registration(
    {{"attention", "plain", self, attend_with({}), reference_with({})},
     {"attention", "causal", self, attend_with({.mask = AttentionMask::causal()}),
      reference_with(causal_reference(0))},
     {"attention", "grouped heads, causal, longer keys", grouped,
      attend_with({.mask = AttentionMask::causal()}), reference_with(causal_reference(3))},
     {"attention", "window, scale", self, attend_with({.mask = AttentionMask::window(1, 2)}),
      reference_with(windowed_reference())},
     {"attention", "softcap, negative scale, causal", self,
      attend_with({.mask = AttentionMask::causal(), .scale = -0.7, .softcap = 1.5}),
      reference_with(softcap_reference())},
     {"attention", "bias of each head", with(self, {{2, 5, 5}}),
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{
            attention(x[0], x[1], x[2], {.mask = AttentionMask::bias(x[3]) & AttentionMask::causal()})
                .output};
      },
      [](const std::vector<Array>& in) {
        AttentionReference r = causal_reference(0);
        r.bias = [&](std::int64_t h, std::int64_t i, std::int64_t j) {
          return in[3].values[static_cast<std::size_t>((h * 5 + i) * 5 + j)];
        };
        return attention_reference(in[0], in[1], in[2], r);
      }},
     {"attention", "sink", with(self, {{2}}),
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{attention(x[0], x[1], x[2], {.sink = x[3]}).output};
      },
      [](const std::vector<Array>& in) {
        AttentionReference r;
        r.sink = &in[3].values;
        return attention_reference(in[0], in[1], in[2], r);
      }},
     {"attention", "weights and log-sum-exp", self,
      [](const std::vector<Tensor>& x) {
        const auto r = attention(x[0], x[1], x[2],
                                 {.mask = AttentionMask::causal(), .need_weights = true, .need_lse = true});
        return std::vector<Tensor>{r.weights, r.output, r.lse};
      },
      [](const std::vector<Array>& in) {
        AttentionReference r = causal_reference(0);
        r.weights = true;
        return attention_reference(in[0], in[1], in[2], r);
      }},
     {"scaled_dot_product_attention", "plain", self,
      ternary([](const Tensor& q, const Tensor& k, const Tensor& v) {
        return scaled_dot_product_attention(q, k, v).output;
      }),
      reference_with({})}},
    {throws<ShapeError>(
         "attention", "key and value lengths [report-26]",
         [] {
           attention(zeros({1, 1, 2, 8}), zeros({1, 1, 5, 8}), zeros({1, 1, 6, 8}));
         },
         "attention: key and value lengths differ, q is [1, 1, 2, 8], k is [1, 1, 5, 8] and v is [1, 1, 6, "
         "8]; "
         "expected k[-2] == v[-2]"),
     throws<ShapeError>(
         "attention", "head sizes",
         [] {
           attention(zeros({1, 1, 2, 8}), zeros({1, 1, 5, 4}), zeros({1, 1, 5, 8}));
         },
         "attention: head sizes differ, q is [1, 1, 2, 8], k is [1, 1, 5, 4] and v is [1, 1, 5, 8]; expected "
         "q[-1] == k[-1]"),
     throws<ShapeError>(
         "attention", "head counts",
         [] {
           attention(zeros({1, 3, 2, 8}), zeros({1, 2, 5, 8}), zeros({1, 2, 5, 8}));
         },
         "attention: head counts do not fit, q is [1, 3, 2, 8], k is [1, 2, 5, 8] and v is [1, 2, 5, 8]; "
         "expected k[-3] == v[-3], and q[-3] a multiple of it"),
     throws<ShapeError>(
         "attention", "mask shape",
         [] {
           attention(zeros({1, 1, 2, 8}), zeros({1, 1, 5, 8}), zeros({1, 1, 5, 8}),
                     {.mask = AttentionMask::attend(zeros({3, 5}, DType::boolean))});
         },
         "attention: mask does not broadcast, mask is [3, 5]; expected a shape that expands to [1, 1, 2, 5]"),
     throws<ShapeError>(
         "scaled_dot_product_attention", "lengths",
         [] {
           scaled_dot_product_attention(zeros({2, 8}), zeros({5, 8}), zeros({6, 8}));
         },
         "scaled_dot_product_attention: key and value lengths differ, Q is [2, 8], K is [5, 8] and V is [6, "
         "8]; "
         "expected K[-2] == V[-2]"),
     throws<DTypeError>(
         "scaled_dot_product_attention", "mask dtype",
         [] {
           scaled_dot_product_attention(zeros({2, 8}), zeros({5, 8}), zeros({5, 8}), zeros({2, 5}));
         },
         "scaled_dot_product_attention: dtype not supported, mask is f32[2, 5]; expected boolean")});

// Seven digits are given in the reports.
template <class T>
void require_values(const Tensor& got, const std::vector<double>& wanted) {
  const auto values = got.to_vector<T>();
  REQUIRE(values.size() == wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == Approx(wanted[i]).margin(2e-7));
}

template <class T>
Tensor matrix(std::initializer_list<T> values, std::int64_t columns) {
  return tensor(values, {static_cast<std::int64_t>(values.size()) / columns, columns});
}

}  // namespace

TEMPLATE_TEST_CASE("a query whose keys are all closed gives zeros and adds no gradient", "[report-20]", float,
                   double) {
  using T = TestType;
  const DType dtype = dtype_of<T>;
  Tensor q = matrix<T>({1, 0, 0, 1, 1, 1}, 2).set_requires_grad();
  Tensor k = matrix<T>({1, 2, 3, 4, 5, 6}, 2).set_requires_grad();
  Tensor v = matrix<T>({1, 0, 0, 1, 1, 1}, 2).set_requires_grad();
  const Tensor keep = tensor({true, true, true, false, false, false, true, false, true}, {3, 3});
  const auto i = -std::numeric_limits<T>::infinity();
  const Tensor bias = tensor<T>({0, 0, 0, i, i, i, 0, i, 0}, {3, 3});
  for (const AttentionMask& mask : {AttentionMask::attend(keep), AttentionMask::bias(bias),
                                    AttentionMask::attend(keep) & AttentionMask::bias(bias)}) {
    for (const bool composite : {false, true}) {
      AttentionOptions options{.mask = mask};
      options.need_lse = composite;
      const Tensor y = attention(q, k, v, options).output;
      require_values<T>(y, {.8133063, .9546116, 0, 0, 1, .9965187});
      for (Tensor* x : {&q, &k, &v}) x->zero_grad();
      backward(y, {.cotangent = ones({3, 2}, dtype)});
      for (Tensor* x : {&q, &k, &v}) {
        for (const T g : x->grad().template to_vector<T>()) REQUIRE(std::isfinite(g));
      }
      REQUIRE(q.grad().template to_vector<T>()[2] == 0);
      REQUIRE(q.grad().template to_vector<T>()[3] == 0);
    }
  }
  const auto textbook = scaled_dot_product_attention(q, k, v, keep);
  require_values<T>(textbook.output, {.8133063, .9546116, 0, 0, 1, .9965187});
  for (int j = 3; j < 6; ++j)
    REQUIRE(textbook.weights.template to_vector<T>()[static_cast<std::size_t>(j)] == 0);
}

TEMPLATE_TEST_CASE("causal attention is aligned at the last query and key", "[report-22]", float, double) {
  using T = TestType;
  const Tensor q = matrix<T>({1, 2}, 1);
  const Tensor k = matrix<T>({0, 1, 2, 3}, 1);
  const Tensor v = matrix<T>({1, 2, 4, 8}, 1);
  const AttentionMask causal = AttentionMask::causal();
  require_values<T>(attention(q, k, v, {.mask = causal}).output, {3.2404513, 7.4217031});
  require_values<T>(attention(q, k, v, {.mask = causal.query_start(0)}).output, {1, 1.8807971});
  require_values<T>(
      attention(matrix<T>({1, 2, 3, 4, 5}, 1), matrix<T>({0, 1}, 1), matrix<T>({1, 3}, 1), {.mask = causal})
          .output,
      {0, 0, 0, 1, 2.9866143});
}

TEMPLATE_TEST_CASE("later keys and values never change an output", "[report-23]", float, double) {
  using T = TestType;
  Generator generator(6);
  for (const std::int64_t n : {1, 2, 7, 33, 130}) {
    const Tensor q = randn({1, 1, n, 3}, generator, dtype_of<T>);
    const Tensor keep = ones({n, n}, DType::boolean);
    for (const AttentionMask& extra :
         {AttentionMask(), AttentionMask::attend(keep), AttentionMask::bias(zeros({n, n}, dtype_of<T>)),
          AttentionMask::key_lengths(tensor<std::int64_t>({n}))}) {
      Tensor k = randn({1, 1, n, 3}, generator, dtype_of<T>);
      Tensor v = randn({1, 1, n, 3}, generator, dtype_of<T>);
      const auto before =
          attention(q, k, v, {.mask = AttentionMask::causal() & extra}).output.template to_vector<T>();
      const std::int64_t from = n / 2;
      for (std::int64_t j = from * 3; j < n * 3; ++j) {
        k.mutable_data<T>()[j] = T(50);
        v.mutable_data<T>()[j] = T(-7);
      }
      const auto after =
          attention(q, k, v, {.mask = AttentionMask::causal() & extra}).output.template to_vector<T>();
      for (std::size_t i = 0; i < static_cast<std::size_t>(from * 3); ++i) REQUIRE(after[i] == before[i]);
    }
  }
}

TEMPLATE_TEST_CASE("a closed weight is exactly zero whatever the scores", "[report-25]", float, double) {
  using T = TestType;
  const Tensor keep = tensor({true, false}, {1, 2});
  const auto i = -std::numeric_limits<T>::infinity();
  const AttentionMask twice = AttentionMask::attend(keep) & AttentionMask::bias(tensor<T>({0, i}, {1, 2})) &
                              AttentionMask::bias(tensor<T>({0, i}, {1, 2}));
  for (const AttentionMask& mask :
       {AttentionMask::attend(keep), AttentionMask::ignore(tensor({false, true}, {1, 2})), twice}) {
    const Tensor y = attention(matrix<T>({-1000}, 1), matrix<T>({300, 1}, 1), matrix<T>({5, 7}, 1),
                               {.mask = mask, .scale = 1.0})
                         .output;
    REQUIRE(y.item<T>() == 5);
  }
}

TEMPLATE_TEST_CASE("values may be wider than keys; the scale is that of the query", "[report-26]", float,
                   double) {
  using T = TestType;
  const Tensor q = matrix<T>({1, 0, 0, 1, 1, 1}, 2);
  const Tensor k = matrix<T>({1, 2, 3, 4, 5, 6}, 2);
  const Tensor v = matrix<T>({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3);
  const auto y = attention(q, k, v).output.template to_vector<T>();
  const double wanted[] = {6.1675887, 7.1675887, 8.1675887, 6.1675887, 7.1675887,
                           8.1675887, 6.8134027, 7.8134027, 8.8134027};
  for (std::size_t j = 0; j < 9; ++j) REQUIRE(y[j] == Approx(wanted[j]).epsilon(1e-7));
}

TEMPLATE_TEST_CASE("NaN in closed keys and values reaches nothing", "[report-25]", float, double) {
  using T = TestType;
  Generator generator(8);
  Tensor q = randn({1, 2, 4, 3}, generator, dtype_of<T>).set_requires_grad();
  Tensor k = randn({1, 2, 6, 3}, generator, dtype_of<T>);
  Tensor v = randn({1, 2, 6, 3}, generator, dtype_of<T>);
  for (Tensor* x : {&k, &v}) {
    for (const std::int64_t at : {5 * 3, 11 * 3 + 1})
      x->template mutable_data<T>()[at] = std::numeric_limits<T>::quiet_NaN();
    x->set_requires_grad();
  }
  const AttentionMask mask = AttentionMask::key_lengths(tensor<std::int64_t>({5})) & AttentionMask::causal();
  const Tensor y = attention(q, k, v, {.mask = mask}).output;
  for (const T value : y.to_vector<T>()) REQUIRE(std::isfinite(value));
  backward(y, {.cotangent = ones(y.shape(), dtype_of<T>)});
  for (Tensor* x : {&q, &k, &v}) {
    for (const T g : x->grad().template to_vector<T>()) REQUIRE(std::isfinite(g));
  }
}

TEST_CASE("blocked and composite forms agree in value, gradient and second gradient") {
  Generator generator(9);
  const Tensor keep = tensor({true, false, true, true, true, true}, {1, 6});
  for (const AttentionMask& mask :
       {AttentionMask(), AttentionMask::causal(), AttentionMask::window(2, 1), AttentionMask::attend(keep),
        AttentionMask::causal() & AttentionMask::alibi(tensor({0.5, 0.25, 0.1, 0.0}))}) {
    std::vector<Tensor> x{randn({2, 4, 5, 3}, generator, DType::f64),
                          randn({2, 2, 6, 3}, generator, DType::f64),
                          randn({2, 2, 6, 2}, generator, DType::f64)};
    for (Tensor& t : x) t.set_requires_grad();
    const AttentionOptions options{.mask = mask};
    REQUIRE(detail::attention_blocks_cover(x[0], x[1], x[2], options));
    const auto run = [&](auto form) {
      const Tensor y = form(x[0], x[1], x[2], options).output;
      Generator same(10);
      const auto first = grad(std::span(&y, 1), x,
                              {.grad_outputs = {randn(y.shape(), same, DType::f64)}, .create_graph = true});
      std::vector<Tensor> cotangents;
      for (const Tensor& g : first) cotangents.push_back(randn(g.shape(), same, DType::f64));
      const auto plain = grad(std::span(&y, 1), x,
                              {.grad_outputs = {randn(y.shape(), same, DType::f64)}, .retain_graph = true});
      const auto second = grad(first, x, {.grad_outputs = cotangents});
      std::vector<double> all = y.to_vector<double>();
      for (const auto* list : {&first, &plain, &second}) {
        for (const Tensor& g : *list) {
          const auto values = g.to_vector<double>();
          all.insert(all.end(), values.begin(), values.end());
        }
      }
      return all;
    };
    const auto blocked = run(detail::attention_blocked);
    const auto composite = run(detail::attention_composite);
    REQUIRE(blocked.size() == composite.size());
    // Sums of at most 60 terms of size 1 in another order.
    for (std::size_t i = 0; i < blocked.size(); ++i)
      REQUIRE(blocked[i] == Approx(composite[i]).margin(1e-12));
  }
}

TEST_CASE("dropout of 1 drops every weight, whatever the mask keeps", "[fault-8]") {
  Generator generator(11);
  for (const std::int64_t queries : {1, 5, 70}) {
    std::vector<Tensor> x{randn({1, 2, queries, 3}, generator), randn({1, 2, 5, 3}, generator),
                          randn({1, 2, 5, 3}, generator)};
    for (Tensor& t : x) t.set_requires_grad();
    const Tensor keep = lt(rand({1, 2, queries, 5}, generator), 0.5);
    for (const bool fused : {true, false}) {
      CAPTURE(queries, fused);
      std::optional<NoFusion> guard;
      if (!fused) guard.emplace();
      const AttentionResult y = attention(
          x[0], x[1], x[2], {.dropout_keep = keep, .dropout = 1, .need_weights = true, .need_lse = true});
      for (const float value : y.output.to_vector<float>()) REQUIRE(value == 0);
      for (const Tensor& g : grad(std::span(&y.output, 1), x, {.grad_outputs = {ones(y.output.shape())}})) {
        for (const float value : g.to_vector<float>()) REQUIRE(value == 0);
      }
      // The weights before dropout are those without it.
      const auto plain = attention(x[0], x[1], x[2], {.need_weights = true}).weights.to_vector<float>();
      REQUIRE(y.weights.to_vector<float>() == plain);
    }
  }
}

TEST_CASE("dropout without a mask of what is kept is an error", "[fault-18]") {
  const Tensor x = ones({1, 1, 2, 3});
  for (const double p : {0.5, 1.0}) {
    CHECK_THROWS_AS(attention(x, x, x, {.dropout = p}), ValueError);
  }
  CHECK_THROWS_WITH(
      attention(x, x, x, {.dropout = 0.5}),
      "attention: dropout without a mask of what is kept, dropout is 0.5; expected dropout_keep, "
      "such as ge(rand(shape, generator), dropout) with the shape of the weights");
  CHECK_NOTHROW(attention(x, x, x, {.dropout = 0}));
}

TEMPLATE_TEST_CASE("at head size 0 every open key weighs alike", "[fault-10]", float, double) {
  using T = TestType;
  const Tensor none = zeros({2, 0}, dtype_of<T>), keys = zeros({3, 0}, dtype_of<T>);
  Tensor v = matrix<T>({1, 2, 6}, 1).set_requires_grad();
  const AttentionResult y = attention(none, keys, v, {.mask = AttentionMask::causal(), .need_lse = true});
  require_values<T>(y.output, {1.5, 3});
  require_values<T>(y.lse, {std::log(2.0), std::log(3.0)});
  require_values<T>(grad(sum(y.output), v), {0.8333333, 0.8333333, 0.3333333});
  require_values<T>(scaled_dot_product_attention(none, keys, v.detach()).output, {3, 3});
  require_values<T>(attention(none, keys, v.detach(), {.scale = 2.0}).output, {3, 3});
}

TEST_CASE("ALiBi at positions near the ends of their range is finite, in every form", "[fault-16]") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  Generator generator(12);
  for (const std::int64_t queries : {1, 5}) {
    std::vector<Tensor> x{randn({1, 2, queries, 3}, generator, DType::f64),
                          randn({1, 2, 5, 3}, generator, DType::f64),
                          randn({1, 2, 5, 3}, generator, DType::f64)};
    const Tensor slopes = tensor({0.5, 0.25});
    for (const std::int64_t start : {least, least + 1, std::int64_t{-3}, std::int64_t{2}, most - 1, most}) {
      CAPTURE(queries, start);
      const AttentionOptions options{.mask = AttentionMask::alibi(slopes).query_start(start)};
      const auto fused = attention(x[0], x[1], x[2], options).output.to_vector<double>();
      const NoFusion guard;
      const auto composite = attention(x[0], x[1], x[2], options).output.to_vector<double>();
      // Sums of five terms in another order; far away all logits are rounded to one number.
      for (std::size_t i = 0; i < fused.size(); ++i) REQUIRE(fused[i] == Approx(composite[i]).margin(1e-13));
    }
  }
}
