#include <limits>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>

using namespace heed;

TEST_CASE("the textbook form agrees with attention, mask and weights included") {
  Generator generator(1);
  const Tensor q = randn({2, 3, 4, 5}, generator, DType::f64);
  const Tensor k = randn({2, 3, 6, 5}, generator, DType::f64);
  const Tensor v = randn({2, 3, 6, 2}, generator, DType::f64);
  Tensor mask = rand({4, 6}, generator, DType::f64);
  Tensor keep = empty({4, 6}, DType::boolean);
  for (int i = 0; i < 24; ++i) keep.mutable_data<bool>()[i] = mask.data<double>()[i] > 0.4;
  for (int j = 0; j < 6; ++j) keep.mutable_data<bool>()[6 + j] = false;
  const auto textbook = scaled_dot_product_attention(q, k, v, keep);
  const auto full = attention(q, k, v, {.mask = AttentionMask::attend(keep), .need_weights = true});
  const auto same = [](const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<double>();
    const auto y = b.to_vector<double>();
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      REQUIRE(x[i] == Approx(y[i]).margin(1e-14));  // sums in another order
  };
  same(textbook.output, full.output);
  same(textbook.weights, full.weights);
}

TEST_CASE("one tensor as query, key and value", "[report-1]") {
  // f(x) = Σ attention(x, x, x): the gradient is the sum of those through the three roles.
  Generator generator(2);
  Tensor x = randn({3, 2}, generator, DType::f64).set_requires_grad();
  const Tensor y = scaled_dot_product_attention(x, x, x).output;
  const Tensor whole = grad(y, x, {.grad_outputs = {ones({3, 2}, DType::f64)}});
  std::vector<double> total(6, 0.0);
  for (int role = 0; role < 3; ++role) {
    std::vector<Tensor> parts(3, x.detach());
    parts[static_cast<std::size_t>(role)] = x.detach().set_requires_grad();
    const Tensor part = scaled_dot_product_attention(parts[0], parts[1], parts[2]).output;
    const auto g =
        grad(part, parts[static_cast<std::size_t>(role)], {.grad_outputs = {ones({3, 2}, DType::f64)}})
            .to_vector<double>();
    for (std::size_t i = 0; i < 6; ++i) total[i] += g[i];
  }
  const auto got = whole.to_vector<double>();
  for (std::size_t i = 0; i < 6; ++i)
    REQUIRE(got[i] == Approx(total[i]).margin(1e-14));  // three sums in another order
}

TEMPLATE_TEST_CASE("NaN in closed keys and values reaches nothing in the textbook form", "[report-25]", float,
                   double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<Tensor> x{tensor<T>({1, 2}, {1, 2}), tensor<T>({1, 1, nan, 0}, {2, 2}),
                        tensor<T>({3, nan}, {2, 1})};
  for (Tensor& t : x) t.set_requires_grad();
  const auto result = scaled_dot_product_attention(x[0], x[1], x[2], tensor({true, false}, {1, 2}));
  REQUIRE(result.output.template item<T>() == 3);
  REQUIRE(result.weights.template to_vector<T>() == std::vector<T>{1, 0});
  const auto gradients = grad(std::span(&result.output, 1), x, {.grad_outputs = {tensor<T>({1}, {1, 1})}});
  REQUIRE(gradients[0].template to_vector<T>() == std::vector<T>{0, 0});
  REQUIRE(gradients[1].template to_vector<T>() == std::vector<T>{0, 0, 0, 0});
  REQUIRE(gradients[2].template to_vector<T>() == std::vector<T>{1, 0});
}
