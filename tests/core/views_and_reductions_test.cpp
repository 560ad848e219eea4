// Views, reductions and sizes together, in both floating types.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/error.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/expand.h>
#include <heed/ops/extremum.h>
#include <heed/ops/prod.h>
#include <heed/ops/slice.h>
#include <heed/ops/softmax.h>
#include <heed/ops/sum.h>

using namespace heed;
using Catch::Matchers::Contains;

namespace {

template <class T>
Tensor row(std::initializer_list<T> values) {
  return tensor<T>(values);
}

template <class T, class Loss>
std::vector<T> gradient_at_zeros(const Shape& shape, Loss&& loss) {
  Tensor z = zeros(shape, dtype_of<T>);
  z.set_requires_grad();
  return grad(loss(z), z).template to_vector<T>();
}

}  // namespace

TEMPLATE_TEST_CASE("an expanded view is not written to", "", float, double) {
  using T = TestType;
  const Tensor base = ones({1, 1}, dtype_of<T>);
  Tensor wide = expand(base, {3, 4});
  const NoGrad guard;
  CHECK_THROWS_AS(wide.fill_(2), ValueError);
  CHECK_THROWS_AS(wide.copy_(ones({3, 4}, dtype_of<T>)), ValueError);
  CHECK_THROWS_WITH(wide.mutable_data<T>(), Contains("indices share elements"));
  CHECK(base.item<T>() == 1);
}

TEMPLATE_TEST_CASE("a strided slice picks single elements of a longer span", "", float, double) {
  using T = TestType;
  CHECK(gradient_at_zeros<T>({2, 3}, [](const Tensor& z) {
          return sum(slice(z, 0, 0, {}, 2) * row<T>({4, 5, 6})) +
                 sum(slice(z, 0, 1, {}, 2) * row<T>({40, 50, 60}));
        }) == std::vector<T>{4, 5, 6, 40, 50, 60});
  CHECK(gradient_at_zeros<T>({5}, [](const Tensor& z) {
          return sum(slice(z, 0, 0, {}, 4) * row<T>({7, 9}));
        }) == std::vector<T>{7, 0, 0, 0, 9});
  CHECK(gradient_at_zeros<T>({3}, [](const Tensor& z) { return sum(slice(z, 0, 0, {}, 3) * row<T>({7})); }) ==
        std::vector<T>{7, 0, 0});
  CHECK(gradient_at_zeros<T>({3}, [](const Tensor& z) { return sum(slice(z, 0, 1, 1)); }) ==
        std::vector<T>{0, 0, 0});
}

TEMPLATE_TEST_CASE("reductions of nothing have an identity or refuse", "", float, double) {
  using T = TestType;
  const Tensor nothing = zeros({0}, dtype_of<T>);
  CHECK(sum(nothing).item<T>() == 0);
  CHECK(prod(nothing).item<T>() == 1);
  const T average = mean(nothing).item<T>();
  CHECK(average != average);  // NaN
  CHECK_THROWS_AS(amax(nothing), ValueError);
  CHECK_THROWS_AS(amin(nothing), ValueError);
  CHECK_THROWS_AS(argmax(nothing, 0), ValueError);
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}}) {
    CHECK(softmax(zeros(shape, dtype_of<T>)).shape() == shape);
    CHECK(log_softmax(zeros(shape, dtype_of<T>)).shape() == shape);
  }
  CHECK(sum(zeros({0, 3}, dtype_of<T>), {0}).template to_vector<T>() == std::vector<T>{0, 0, 0});
}

TEMPLATE_TEST_CASE("more than 2^31 elements of one stored number", "", float, double) {
  using T = TestType;
  const Tensor x = expand(ones({1}, dtype_of<T>), {50000, 42950});
  REQUIRE(x.numel() == 2147500000);
  const Tensor last = slice(x, 0, -1);
  CHECK(last.shape() == Shape{1, 42950});
  CHECK(sum(last).template item<T>() == 42950);
  const Shape huge{std::int64_t{1} << 32, std::int64_t{1} << 32};
  CHECK_THROWS_AS(zeros(huge, dtype_of<T>), ShapeError);
  CHECK_THROWS_AS(expand(x, {std::int64_t{1} << 33, 50000, 42950}), ShapeError);
  CHECK_THROWS_AS(empty({std::int64_t{1} << 61}, dtype_of<T>), ShapeError);  // the bytes wrap
}
