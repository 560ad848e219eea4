// What becomes of subnormal numbers: f32 flushes them inside attention, products, softmax, norms and
// cross_entropy, whatever the caller's modes are, and keeps them elsewhere; f64 keeps them everywhere.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/cast.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/kernels/flush_subnormals.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/linear.h>
#include <heed/ops/matmul.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

using namespace heed;

namespace {

using Function = std::function<Tensor(const Tensor&)>;
struct Case {
  std::string name;
  Function f;
};

// Functions of x [3, 4, 8] that flush.
std::vector<Case> flushing() {
  const auto attend = [](const Tensor& x, const AttentionOptions& options) {
    return attention(x, x, x, options).output;
  };
  return {
      {"matmul", [](const Tensor& x) { return matmul(x, transpose(x, 1, 2)); }},
      {"linear",
       [](const Tensor& x) {
         return linear(x, narrow(reshape(x, {12, 8}), 0, 0, 5));
       }},
      {"softmax", [](const Tensor& x) { return softmax(x, -1); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, -1); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {8}, {}, {}, 1e-5); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x, {8}, {}, 1e-5); }},
      {"cross_entropy",
       [](const Tensor& x) {
         return cross_entropy(reshape(x, {12, 8}), zeros({12}, DType::i64));
       }},
      {"attention", [=](const Tensor& x) { return attend(x, {.mask = AttentionMask::causal()}); }},
      {"attention with ALiBi",
       [=](const Tensor& x) {
         return attend(x, {.mask = AttentionMask::causal() & AttentionMask::alibi(full({3}, 30.0))});
       }},
      {"textbook attention", [](const Tensor& x) { return scaled_dot_product_attention(x, x, x).output; }},
  };
}

bool subnormal_in(const Tensor& x) {
  for (const double v : cast(x, DType::f64).to_vector<double>()) {
    if (std::fpclassify(static_cast<float>(v)) == FP_SUBNORMAL) return true;
  }
  return false;
}

// Value and gradient under the cotangent dy, which shows whether subnormal results come out of either.
std::pair<Tensor, Tensor> run(const Case& c, const Tensor& of_x, double scale) {
  const Tensor x = of_x.detach().set_requires_grad();
  const Tensor y = c.f(x);
  const Tensor dy = full(y.shape(), scale, y.dtype());
  return {y.detach(), grad(std::span(&y, 1), std::vector<Tensor>{x}, {.grad_outputs = {dy}}).front()};
}

bool equal(const Tensor& a, const Tensor& b) { return a.to_vector<float>() == b.to_vector<float>(); }

// x with subnormal elements here and there, and x with zeros in their place.
std::pair<Tensor, Tensor> with_subnormals(std::uint64_t seed) {
  Generator generator(seed);
  Tensor x = randn({3, 4, 8}, generator), zeroed = clone(x);
  for (std::int64_t i = 0; i < x.numel(); i += 3) {
    x.mutable_data<float>()[i] = (i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(i + 1) * 1e-42f;
    zeroed.mutable_data<float>()[i] = 0;
  }
  return {x, zeroed};
}

struct ThreadCount {
  int former = num_threads();
  ~ThreadCount() { set_num_threads(former); }
};

}  // namespace

TEST_CASE("f32 takes subnormal operands as zero where it flushes, and gives no subnormal results",
          "[subnormals][fault-21]") {
  const auto [x, zeroed] = with_subnormals(1);
  REQUIRE(subnormal_in(x));
  for (const Case& c : flushing()) {
    INFO(c.name);
    for (const double scale : {1.0, 1e-38, 3e-39}) {
      const auto [value, slope] = run(c, x, scale);
      const auto [wanted_value, wanted_slope] = run(c, zeroed, scale);
      CHECK(equal(value, wanted_value));
      CHECK_FALSE(subnormal_in(value));
      // The sum of two gradients that reach x is an elementwise operation, which keeps what it is given.
      CHECK(equal(slope, wanted_slope));
    }
  }
}

TEST_CASE("flushing does not depend on the caller's modes or threads, and leaves them as they were",
          "[subnormals][fault-21]") {
  const ThreadCount restore;
  const auto [x, zeroed] = with_subnormals(2);
  for (const Case& c : flushing()) {
    INFO(c.name);
    set_num_threads(1);
    const auto [value, slope] = run(c, x, 1e-30);
    for (const int threads : {1, 2, 4}) {
      for (const bool flush : {false, true}) {
        set_num_threads(threads);
        const kernels::FlushSubnormals modes(flush);
        const auto [again, slope_again] = run(c, x, 1e-30);
        CHECK(equal(again, value));
        CHECK(equal(slope_again, slope));
        volatile float least = std::numeric_limits<float>::min();
        CHECK((least / 2 == 0) == flush);
      }
    }
  }
}

TEST_CASE("elementwise operations, reductions, casts and all of f64 keep subnormal numbers",
          "[subnormals][fault-21]") {
  constexpr float least = 1e-42f;
  const Tensor x = full({9}, least, DType::f32);
  CHECK(mul(x, 0.5).to_vector<float>()[0] == least / 2);
  CHECK(sum(x).item<float>() > 8 * least);
  CHECK(cast(cast(x, DType::f64), DType::f32).to_vector<float>()[8] == least);
  CHECK(square(full({1}, 1e-22f, DType::f32)).item<float>() > 0);
  const Tensor wide = full({2, 2}, 1e-320, DType::f64);
  CHECK(matmul(wide, full({2, 2}, 1.0, DType::f64)).to_vector<double>()[0] > 0);
  CHECK(softmax(tensor({{0.0, -744.0}}), -1).to_vector<double>()[1] > 0);
}
