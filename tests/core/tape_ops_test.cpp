// Features of the tape over real operations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/anomaly.h>
#include <heed/core/backward.h>
#include <heed/core/checkpoint.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/dropout.h>
#include <heed/ops/matmul.h>
#include <heed/ops/sum.h>

using namespace heed;

TEMPLATE_TEST_CASE("checkpoint of attention with dropout gives the same bits", "[checkpoint]", float,
                   double) {
  using T = TestType;
  Generator init(1);
  Tensor x = randn({2, 2, 9, 4}, init, dtype_of<T>);
  Tensor w = randn({4, 4}, init, dtype_of<T>);
  x.set_requires_grad();
  w.set_requires_grad();
  const Tensor u = randn({2, 2, 9, 4}, init, dtype_of<T>);
  const auto run = [&](bool recompute) {
    Generator generator(5);
    const auto block = [&](const Tensor& t) {
      const Tensor q = matmul(t, w);
      const Tensor y = attention(q, t, t, {.mask = AttentionMask::causal()}).output;
      return dropout(gelu(y), 0.3, generator) + t;
    };
    const Tensor y = recompute ? checkpoint(block, checkpoint(block, x)) : block(block(x));
    x.zero_grad();
    w.zero_grad();
    backward(sum(y * u));
    return std::vector<std::vector<T>>{y.to_vector<T>(), x.grad().template to_vector<T>(),
                                       w.grad().template to_vector<T>()};
  };
  const auto plain = run(false);
  const auto again = run(true);
  CHECK(again[0] == plain[0]);
  CHECK(again[1] == plain[1]);
  // Both blocks use w, and its parts are added in another order: rounding of the largest, at most.
  T largest = 0;
  for (const T g : plain[2]) largest = std::max(largest, std::abs(g));
  const double bound = 8 * static_cast<double>(std::numeric_limits<T>::epsilon() * largest);
  for (std::size_t i = 0; i < plain[2].size(); ++i) {
    CHECK(std::abs(static_cast<double>(again[2][i] - plain[2][i])) <= bound);
  }
}

TEST_CASE("anomaly mode lets attention with dead rows and closed pairs pass", "[anomaly]") {
  Generator generator(1);
  Tensor q = randn({1, 2, 6, 4}, generator, DType::f64);
  Tensor k = randn({1, 2, 3, 4}, generator, DType::f64);
  Tensor v = randn({1, 2, 3, 4}, generator, DType::f64);
  for (Tensor* x : {&q, &k, &v}) x->set_requires_grad();
  const AnomalyMode guard;
  for (const bool weights : {false, true}) {
    const Tensor y = attention(q, k, v, {.mask = AttentionMask::causal(), .need_weights = weights}).output;
    CHECK_NOTHROW(backward(sum(y * y)));
    CHECK_NOTHROW(
        grad(sum(attention(q, k, v, {.mask = AttentionMask::causal()}).output), q, {.create_graph = true}));
  }
}
