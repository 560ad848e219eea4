// The products over open pairs, and what is built of them: closed pairs add nothing, and
// nothing else changes.
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/core/random.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/composite.h>
#include <heed/ops/attention/form/open_pairs.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/compare.h>
#include <heed/ops/expand.h>
#include <heed/ops/slice.h>
#include <heed/ops/where.h>

using namespace heed;

namespace {

void require_derivatives(const check::Function& f, const std::vector<Tensor>& x) {
  const auto first = check::gradcheck(f, x, {.rtol = 1e-8});
  INFO(first.report());
  REQUIRE(first.passed);
  const auto second = check::gradgradcheck(f, x, {.rtol = 1e-7});
  INFO(second.report());
  REQUIRE(second.passed);
}

// Some closed pairs, and one query without an open key.
Tensor random_mask(const Shape& shape, Generator& generator) {
  Tensor open = lt(rand(shape, generator, DType::f64), 0.6);
  for (std::int64_t j = 0; j < shape[shape.rank() - 1]; ++j) open.mutable_data<bool>()[j] = false;
  return open;
}

std::vector<Tensor> leaves(const std::vector<Shape>& shapes, Generator& generator, DType dtype) {
  std::vector<Tensor> x;
  for (const Shape& shape : shapes) x.push_back(randn(shape, generator, dtype).set_requires_grad());
  return x;
}

}  // namespace

TEST_CASE("products and softmax over open pairs have first and second derivatives") {
  Generator generator(1);
  const Tensor of_heads = random_mask({3, 4, 5}, generator);
  const Tensor of_keys = random_mask({2, 1, 1, 5}, generator);
  for (const Tensor& open : {Tensor(), of_heads, of_keys}) {
    // Leading axes that broadcast, [2, 1] against [3].
    require_derivatives(
        [&](const std::vector<Tensor>& x) {
          return std::vector<Tensor>{detail::open_scores(x[0], x[1], open)};
        },
        leaves({{2, 1, 4, 3}, {3, 5, 3}}, generator, DType::f64));
    require_derivatives(
        [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{detail::open_sum(x[0], x[1], open)}; },
        leaves({{2, 3, 4, 5}, {3, 5, 2}}, generator, DType::f64));
    require_derivatives(
        [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{detail::open_softmax(x[0], open)}; },
        leaves({{2, 3, 4, 5}}, generator, DType::f64));
  }
}

TEST_CASE(
    "a product over open pairs is the plain product where the pairs are open, and 0 where they are not") {
  const Tensor q = tensor({1.0, 2.0}, {2, 1}), k = tensor({3.0, 5.0, 7.0}, {3, 1});
  const Tensor open = tensor({true, false, true, false, false, false}, {2, 3});
  CHECK(detail::open_scores(q, k, open).to_vector<double>() == std::vector<double>{3, 0, 7, 0, 0, 0});
  const Tensor w = tensor({1.0, 100.0, 2.0, 100.0, 100.0, 100.0}, {2, 3});  // closed weights are not read
  CHECK(detail::open_sum(w, k, open).to_vector<double>() == std::vector<double>{1 * 3 + 2 * 7, 0});
  const Tensor p = detail::open_softmax(tensor({1.0, 100.0, 1.0, 1.0, 1.0, 1.0}, {2, 3}), open);
  CHECK(p.to_vector<double>() == std::vector<double>{0.5, 0, 0.5, 0, 0, 0});
}

namespace {

// Rows or elements of x that `closed` names hold the planted number; it expands to the shape of x.
Tensor planted_in(const Tensor& x, const Tensor& closed, double planted) {
  return masked_fill(x.detach(), expand(closed, x.shape()), planted);
}

// One of the three steps, and where its inputs and its result are closed. Undefined: nowhere.
struct Step {
  const char* name;
  Tensor (*run)(const std::vector<Tensor>& x, const Tensor& open);
  std::vector<Shape> shapes;
  std::vector<Tensor> closed;
  Tensor closed_result;
};

// All elements of a value and of its first and second gradients.
template <class T>
std::vector<T> elements_of(const Tensor& y, const std::vector<Tensor>& first,
                           const std::vector<Tensor>& second) {
  std::vector<T> all = y.template to_vector<T>();
  for (const auto* list : {&first, &second}) {
    for (const Tensor& g : *list) {
      const auto values = g.template to_vector<T>();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

// Value, first and second gradients of a step with numbers planted wherever something is closed: in inputs,
// in the cotangent of the result, and in the cotangents of the gradients.
template <class T>
std::vector<T> planted_derivatives(const Step& step, const Tensor& open, double planted) {
  Generator generator(9);
  const auto draw = [&](const Shape& shape, const Tensor& closed) {
    return planted_in(randn(shape, generator, dtype_of<T>), closed, planted);
  };
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < step.shapes.size(); ++i) {
    x.push_back(draw(step.shapes[i], step.closed[i]).set_requires_grad());
  }
  const Tensor y = step.run(x, open);
  Tensor dy = draw(y.shape(), step.closed_result).set_requires_grad();
  const auto first = grad(std::span(&y, 1), x, {.grad_outputs = {dy}, .create_graph = true});
  std::vector<Tensor> cotangents, inputs = x;
  for (std::size_t i = 0; i < x.size(); ++i) cotangents.push_back(draw(first[i].shape(), step.closed[i]));
  inputs.push_back(dy);
  const auto second = grad(first, inputs, {.grad_outputs = cotangents});
  return elements_of<T>(y, first, second);
}

}  // namespace

TEMPLATE_TEST_CASE("what closed pairs hold reaches no value and no derivative of a step", "", float, double) {
  using T = TestType;
  Generator generator(8);
  Tensor open = random_mask({4, 5}, generator);  // query 0 is dead
  for (std::int64_t i = 0; i < 4; ++i)
    open.mutable_data<bool>()[i * 5 + 4] = false;  // and key 4 is closed to all
  const Tensor closed = logical_not(open);
  const Tensor dead_query = tensor({true, false, false, false}, {4, 1});
  const Tensor closed_key = tensor({false, false, false, false, true}, {5, 1});
  const std::vector<Step> steps{
      {"open_scores",
       [](const std::vector<Tensor>& x, const Tensor& o) { return detail::open_scores(x[0], x[1], o); },
       {{2, 4, 3}, {2, 5, 3}},
       {dead_query, closed_key},
       closed},
      {"open_softmax",
       [](const std::vector<Tensor>& x, const Tensor& o) { return detail::open_softmax(x[0], o); },
       {{2, 4, 5}},
       {closed},
       closed},
      {"open_sum",
       [](const std::vector<Tensor>& x, const Tensor& o) { return detail::open_sum(x[0], x[1], o); },
       {{2, 4, 5}, {2, 5, 3}},
       {closed, closed_key},
       dead_query},
  };
  for (const Step& step : steps) {
    CAPTURE(step.name);
    const auto finite = planted_derivatives<T>(step, open, 0.5);
    for (const T value : finite) REQUIRE(std::isfinite(value));
    CHECK(planted_derivatives<T>(step, open, std::numeric_limits<double>::quiet_NaN()) == finite);
    CHECK(planted_derivatives<T>(step, open, -std::numeric_limits<double>::infinity()) == finite);
  }
}

TEST_CASE("what is not finite reaches a sum over open pairs as the formula says, element by element") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   inf = std::numeric_limits<double>::infinity();
  const Tensor v = tensor({1.0, nan, inf, 2.0, -inf, 3.0}, {3, 2});
  const Tensor open = tensor({true, false, false, true, true, false, false, true, true}, {3, 3});
  const Tensor w = tensor({0.5, nan, nan, 0.5, 0.5, nan, inf, 1.0, 1.0}, {3, 3});
  const auto y = detail::open_sum(w, v, open).to_vector<double>();
  CHECK(y[0] == 0.5);       // 0.5 · 1
  CHECK(std::isnan(y[1]));  // 0.5 · NaN
  CHECK(y[2] == inf);       // 0.5 + 0.5 · inf
  CHECK(std::isnan(y[3]));  // NaN + 1
  CHECK(std::isnan(y[4]));  // inf − inf
  CHECK(y[5] == 2 + 3);     // the other column is finite
}

namespace {

struct Form {
  const char* name;
  Tensor (*output)(const std::vector<Tensor>& x, const AttentionMask& mask);
};

AttentionOptions with_everything(const AttentionMask& mask, DType dtype) {
  AttentionOptions options{.mask = mask};
  options.learned_softcap = full({1}, 3.0, dtype);
  options.sink = zeros({2}, dtype);
  return options;
}

Shape scores_of(const std::vector<Tensor>& x) { return {1, 2, x[0].size(-2), x[1].size(-2)}; }

const Form forms[] = {
    {"textbook",
     [](const std::vector<Tensor>& x, const AttentionMask& mask) {
       return scaled_dot_product_attention(x[0], x[1], x[2], mask.open_pairs(scores_of(x))).output;
     }},
    {"composite",
     [](const std::vector<Tensor>& x, const AttentionMask& mask) {
       return detail::attention_composite(x[0], x[1], x[2], {.mask = mask}).output;
     }},
    {"attention without fusion",
     [](const std::vector<Tensor>& x, const AttentionMask& mask) {
       const NoFusion guard;
       return attention(x[0], x[1], x[2],
                        {.mask = mask & AttentionMask::alibi(full({2}, 0.25, x[0].dtype()))})
           .output;
     }},
    {"learned softcap and sink",
     [](const std::vector<Tensor>& x, const AttentionMask& mask) {
       return attention(x[0], x[1], x[2], with_everything(mask, x[0].dtype())).output;
     }},
    {"blocked", [](const std::vector<Tensor>& x, const AttentionMask& mask) {
       return attention(x[0], x[1], x[2], {.mask = mask}).output;
     }}};

template <class T>
void plant(const Tensor& x, std::int64_t position, double value) {
  Tensor rows = slice(x.detach(), 2, position, position + 1);
  rows.fill_(value);
}

// Rows `begin` to `end` of every head.
template <class T>
std::vector<T> rows(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return slice(x.detach(), 2, begin, end).template to_vector<T>();
}

}  // namespace

TEMPLATE_TEST_CASE("rows that are not open to a NaN keep their bits, in values and gradients", "", float,
                   double) {
  using T = TestType;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t time : {6, 7, 17, 33, 64, 65, 150}) {
    for (const Form& form : forms) {
      CAPTURE(time, form.name);
      const std::int64_t late = time - time / 3;
      const auto run = [&](double planted) {
        Generator generator(3);
        auto x = leaves({{1, 2, time, 8}, {1, 2, time, 8}, {1, 2, time, 5}}, generator, dtype_of<T>);
        const Tensor cotangent = randn({1, 2, time, 5}, generator, dtype_of<T>);
        for (const Tensor& t : x) plant<T>(t, late, planted);
        std::vector<Tensor> results{form.output(x, AttentionMask::causal())};
        for (Tensor& g : grad(results, x, {.grad_outputs = {cotangent}})) results.push_back(std::move(g));
        return results;
      };
      const auto finite = run(1.0), planted = run(nan);
      // The output and dQ of earlier queries; later ones are open to the NaN.
      for (const std::size_t i : {0, 1}) CHECK(rows<T>(planted[i], 0, late) == rows<T>(finite[i], 0, late));
      for (const T y : rows<T>(planted[0], late, time)) CHECK(std::isnan(y));
    }
  }
}

TEMPLATE_TEST_CASE("a key that is closed to all adds nothing to any derivative", "", float, double) {
  using T = TestType;
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const Form& form : forms) {
    const auto run = [&](double planted) {
      Generator generator(4);
      auto x = leaves({{1, 2, 9, 4}, {1, 2, 9, 4}, {1, 2, 9, 3}}, generator, dtype_of<T>);
      const auto draw = [&](const Tensor& like) { return randn(like.shape(), generator, dtype_of<T>); };
      for (const std::size_t i : {1, 2}) plant<T>(x[i], 8, planted);
      const AttentionMask mask = AttentionMask::key_lengths(tensor<std::int64_t>({8})).query_start(0);
      const Tensor y = form.output(x, mask);
      const auto first = grad(std::span(&y, 1), x, {.grad_outputs = {draw(y)}, .create_graph = true});
      const auto second = grad(first, x, {.grad_outputs = {draw(first[0]), draw(first[1]), draw(first[2])}});
      return elements_of<T>(y, first, second);
    };
    CAPTURE(form.name);
    const auto finite = run(1.0);
    for (const T value : finite) CHECK(std::isfinite(value));
    CHECK(run(inf) == finite);
    CHECK(run(std::numeric_limits<double>::quiet_NaN()) == finite);
  }
}
