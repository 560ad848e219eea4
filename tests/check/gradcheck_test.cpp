#include <catch2/catch.hpp>

#include <heed/check/gradcheck.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/core/record.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/matmul.h>
#include <heed/ops/softmax.h>

using namespace heed;

namespace {

// exp with a derivative that is wrong in one way.
struct WrongExpVjp {
  SavedTensor y;
  double factor = 1;
  std::int64_t only = -1;  // element whose gradient is scaled; −1: all
  void vjp(VjpContext& context) const {
    const Tensor y_ = context.unpack(y);
    Tensor scale = ones(y_.shape(), DType::f64);
    double* data = scale.mutable_data<double>();
    for (std::int64_t i = 0; i < scale.numel(); ++i) {
      if (only < 0 || only == i) data[i] = factor;
    }
    context.set(0, mul(mul(context.cotangent(), y_), scale));
  }
};

check::Function wrong_exp(double factor, std::int64_t only) {
  return [=](const std::vector<Tensor>& x) {
    Tensor y = exp(x[0].detach());
    record("wrong_exp", {&x[0]}, y, [&] { return WrongExpVjp{save_output(y, "y"), factor, only}; });
    return std::vector<Tensor>{y};
  };
}

Tensor point(const Shape& shape) {
  Generator generator(1);
  return randn(shape, generator, DType::f64).set_requires_grad();
}

}  // namespace

TEST_CASE("gradcheck passes a right derivative and counts its elements") {
  const auto result = check::gradcheck(wrong_exp(1, -1), {point({3, 4})});
  REQUIRE(result.passed);
  REQUIRE(result.checked == 12);
  REQUIRE(result.report().find("12 elements agree") != std::string::npos);
}

TEST_CASE("gradcheck finds a derivative that is 1 % wrong, a sign, and one element") {
  REQUIRE_FALSE(check::gradcheck(wrong_exp(1.01, -1), {point({3, 4})}).passed);
  REQUIRE_FALSE(check::gradcheck(wrong_exp(-1, -1), {point({3, 4})}).passed);
  const auto one = check::gradcheck(wrong_exp(1.01, 7), {point({3, 4})});
  REQUIRE_FALSE(one.passed);
  REQUIRE(one.failures.size() == 1);
  REQUIRE(one.worst.index == 7);
  REQUIRE(one.worst.analytic == Approx(1.01 * one.worst.numeric).epsilon(1e-6));  // the planted factor
  REQUIRE(one.report().find("7") != std::string::npos);
}

TEST_CASE("cotangents are random: a softmax whose rule is scaled is found") {
  // With a plain sum the gradient of softmax is zero, whatever the factor.
  const check::Function scaled = [](const std::vector<Tensor>& x) {
    const Tensor y = softmax(x[0]);
    Tensor z = y.detach();
    z = add(z, mul(sub(y, y.detach()), 1.01));
    return std::vector<Tensor>{z};
  };
  REQUIRE_FALSE(check::gradcheck(scaled, {point({2, 5})}).passed);
}

TEST_CASE("gradgradcheck finds what is wrong only in second order") {
  struct FirstOrderOnlyVjp {  // right gradient of x², detached from x
    SavedTensor x;
    void vjp(VjpContext& context) const {
      context.set(0, mul(context.cotangent(), mul(context.unpack(x).detach(), 2)));
    }
  };
  const check::Function square = [](const std::vector<Tensor>& x) {
    Tensor y = mul(x[0].detach(), x[0].detach());
    record("square", {&x[0]}, y, [&] { return FirstOrderOnlyVjp{save_input(x[0], "x")}; });
    return std::vector<Tensor>{y};
  };
  REQUIRE(check::gradcheck(square, {point({3})}).passed);
  REQUIRE_FALSE(check::gradgradcheck(square, {point({3})}).passed);
}

TEST_CASE("inputs that need no gradient are held fixed; the caller's tensors are left alone") {
  const Tensor a = point({2, 3});
  Generator generator(2);
  const Tensor b = randn({3, 2}, generator, DType::f64);
  const auto before = a.to_vector<double>();
  const auto result = check::gradcheck(
      [](const std::vector<Tensor>& x) { return std::vector<Tensor>{matmul(x[0], x[1])}; }, {a, b});
  REQUIRE(result.passed);
  REQUIRE(result.checked == 6);
  REQUIRE(a.to_vector<double>() == before);
  REQUIRE_FALSE(a.grad().defined());
}

TEST_CASE("gradcheck samples elements when asked to") {
  REQUIRE(check::gradcheck(wrong_exp(1, -1), {point({10, 10})}, {.max_elements = 7}).checked == 7);
}

TEST_CASE("gradcheck refuses what it cannot check") {
  const check::Function identity = [](const std::vector<Tensor>& x) { return x; };
  REQUIRE_THROWS_AS(check::gradcheck(identity, {zeros({2}).set_requires_grad()}), DTypeError);
  REQUIRE_THROWS_WITH(check::gradcheck(identity, {zeros({2}, DType::f64)}),
                      "gradcheck: no input requires grad; expected at least one");
}
