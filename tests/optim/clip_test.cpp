#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/parallel.h>
#include <heed/core/random.h>
#include <heed/core/view.h>
#include <heed/optim/clip.h>

using Catch::Contains;
using heed::Tensor;
using heed::nn::NamedTensors;
using heed::optim::clip_grad_norm;

namespace {

Tensor with_gradient(const heed::Shape& shape, double gradient) {
  Tensor parameter = heed::zeros(shape).set_requires_grad();
  parameter.set_grad(heed::full(shape, gradient));
  return parameter;
}

}  // namespace

TEST_CASE("the norm is over all parameters together") {
  const Tensor a = with_gradient({1}, 3);
  const Tensor b = with_gradient({1}, -4);
  const Tensor idle = heed::zeros({2}).set_requires_grad();
  CHECK(clip_grad_norm({{"a", a}, {"idle", idle}, {"b", b}}, 10) == 5.0);
  CHECK(a.grad().item<float>() == 3.0f);
  CHECK(clip_grad_norm({{"a", a}, {"b", b}}, 1) == 5.0);
  // 1e-6 in the denominator: 3/5.000001
  CHECK(a.grad().item<float>() == Approx(0.6).epsilon(1e-6));
  CHECK(b.grad().item<float>() == Approx(-0.8).epsilon(1e-6));
  CHECK_FALSE(idle.grad().defined());
}

TEST_CASE("a norm beyond float32 is right") {
  NamedTensors parameters;
  for (const char* name : {"a", "b", "c", "d"}) parameters.emplace_back(name, with_gradient({4, 4}, 1e20));
  CHECK(clip_grad_norm(parameters, 1) == Approx(8e20).epsilon(1e-7));  // 1e20 is rounded to float32
  for (const auto& [name, parameter] : parameters) {
    for (const float g : parameter.grad().to_vector<float>()) CHECK(g == Approx(0.125).epsilon(1e-6));
  }
}

TEST_CASE("clip_grad_norm: squares that f64 cannot hold", "[fault-12]") {
  const auto of = [](std::initializer_list<double> values) {
    const Tensor g = heed::tensor<double>(values);
    Tensor parameter = heed::zeros(g.shape(), g.dtype()).set_requires_grad();
    parameter.set_grad(g);
    return parameter;
  };
  const Tensor huge = of({3e200, 4e200});
  CHECK(clip_grad_norm({{"huge", huge}}, 1) == Approx(5e200).epsilon(1e-15));
  CHECK(huge.grad().to_vector<double>()[0] == Approx(0.6).epsilon(1e-15));
  CHECK(huge.grad().to_vector<double>()[1] == Approx(0.8).epsilon(1e-15));
  // A factor of 2e-401, which f64 cannot hold either.
  const Tensor far = of({3e200, 4e200});
  clip_grad_norm({{"far", far}}, 1e-200);
  CHECK(far.grad().to_vector<double>()[0] == Approx(6e-201).epsilon(1e-15));

  const Tensor tiny = of({3e-200, 4e-200});
  CHECK(clip_grad_norm({{"tiny", tiny}}, 1) == Approx(5e-200).epsilon(1e-15));
  CHECK(tiny.grad().to_vector<double>()[1] == 4e-200);
  const Tensor least = of({3e-320, 4e-320});
  CHECK(clip_grad_norm({{"least", least}}, 1) == Approx(5e-320).margin(8 * 5e-324));
  // Every power of ten, in two parameters of which one decides.
  for (int k = -307; k <= 307; ++k) {
    const double unit = std::pow(10.0, k);
    INFO(k);
    CHECK(clip_grad_norm({{"a", of({0, 3 * unit})}, {"b", of({4 * unit})}}, 1) ==
          Approx(5 * unit).epsilon(1e-15));
  }
  // The elements are finite, the norm is beyond f64.
  const Tensor beyond = of({1.7e308, 1.7e308});
  CHECK_THROWS_AS(clip_grad_norm({{"beyond", beyond}}, 1), heed::GradError);
  CHECK(std::isinf(clip_grad_norm({{"beyond", beyond}}, 1, {.allow_nonfinite = true})));
  CHECK(beyond.grad().to_vector<double>()[0] == 1.7e308);
}

TEST_CASE("a factor too small for f32 is not lost", "[fault-12]") {
  const Tensor a = with_gradient({1}, 1e30);
  clip_grad_norm({{"a", a}}, 1e-20);  // a factor of 1e-50
  CHECK(a.grad().item<float>() == Approx(1e-20).epsilon(1e-6));
}

TEST_CASE("a tied parameter counts once and is scaled once") {
  const Tensor a = with_gradient({1}, 10);
  CHECK(clip_grad_norm({{"a", a}, {"again", a}}, 1) == 10.0);
  CHECK(a.grad().item<float>() == Approx(1.0).epsilon(1e-6));
}

TEST_CASE("a gradient that is not finite is refused by name") {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Tensor a = with_gradient({2}, 7);
    const Tensor b = with_gradient({2}, bad);
    const NamedTensors parameters = {{"a", a}, {"layer.weight", b}};
    CHECK_THROWS_WITH(clip_grad_norm(parameters, 1), Contains("layer.weight"));
    CHECK_THROWS_AS(clip_grad_norm(parameters, 1), heed::GradError);
    CHECK(a.grad().to_vector<float>() == std::vector<float>{7, 7});
    CHECK_FALSE(std::isfinite(clip_grad_norm(parameters, 1, {.allow_nonfinite = true})));
    CHECK(a.grad().to_vector<float>() == std::vector<float>{7, 7});
  }
}

TEST_CASE("the norm of no gradients is zero") {
  CHECK(clip_grad_norm({}, 1.0) == 0);
  CHECK(clip_grad_norm({{"unused", heed::zeros({2}).set_requires_grad()}}, 1.0) == 0);
}

TEST_CASE("zero gradients stay zero") {
  const Tensor a = with_gradient({3}, 0);
  CHECK(clip_grad_norm({{"a", a}}, 1) == 0.0);
  CHECK(a.grad().to_vector<float>() == std::vector<float>{0, 0, 0});
}

TEST_CASE("a gradient shared by two parameters is scaled once for each") {
  const Tensor shared = heed::full({2}, 10);
  Tensor a = heed::zeros({2}).set_requires_grad();
  Tensor b = heed::zeros({2}).set_requires_grad();
  a.set_grad(shared);
  b.set_grad(shared);
  const double norm = clip_grad_norm({{"a", a}, {"b", b}}, 2);
  CHECK(norm == 20.0);
  CHECK(a.grad().to_vector<float>()[0] == Approx(1).epsilon(1e-6));
  CHECK(b.grad().to_vector<float>()[0] == Approx(1).epsilon(1e-6));
  CHECK(shared.to_vector<float>() == std::vector<float>{10, 10});
}

TEST_CASE("an expanded gradient is summed and scaled element by element") {
  const Tensor one = heed::full({1}, 2);
  Tensor a = heed::zeros({4}).set_requires_grad();
  a.set_grad(heed::view_of(one, heed::expand_view("test", one.view(), {4})));
  CHECK(clip_grad_norm({{"a", a}}, 1) == 4.0);
  CHECK(a.grad().to_vector<float>()[3] == Approx(0.5).epsilon(1e-6));
}

TEST_CASE("the norm has the same bits for every thread count") {
  heed::Generator generator(1);
  Tensor a = heed::zeros({100, 1000}).set_requires_grad();
  a.set_grad(heed::randn({100, 1000}, generator));
  const int threads = heed::num_threads();
  std::vector<double> norms;
  for (const int count : {1, 2, 3, 8}) {
    heed::set_num_threads(count);
    norms.push_back(clip_grad_norm({{"a", a}}, 1e9));
  }
  heed::set_num_threads(threads);
  for (const double norm : norms) CHECK(norm == norms[0]);
}

TEST_CASE("the largest norm must be above zero") {
  const Tensor a = with_gradient({1}, 1);
  CHECK_THROWS_AS(clip_grad_norm({{"a", a}}, 0), heed::ValueError);
  CHECK_THROWS_AS(clip_grad_norm({{"a", a}}, std::nan("")), heed::ValueError);
}
