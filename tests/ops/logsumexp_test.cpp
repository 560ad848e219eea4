#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/logsumexp.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Line log_sum(const Line& x) {
  double total = 0;
  for (const double v : x) total += std::exp(v);
  return {std::log(total)};
}

Function over(Shape axes, bool keepdim = false) {
  return unary([=](const Tensor& x) { return logsumexp(x, axes, keepdim); });
}

const Registration registration(
    {
        {"logsumexp", "last axis", {{{3, 5}}}, over({-1}), along(1, log_sum, true)},
        {"logsumexp", "first axis kept", {{{20, 3}}}, over({0}, true), along(0, log_sum)},
        {"logsumexp", "everything", {{{3, 5}}}, over({}), over_all([](const Line& x) {
           return log_sum(x)[0];
         })},
        {"logsumexp", "over nothing", {{{2, 0}}}, over({1}), elements({2}, {-inf, -inf})},
    },
    {throws<DTypeError>(
        "logsumexp", "integers", [] { logsumexp(zeros({2}, DType::i64), {0}); },
        "logsumexp: dtype not supported, x is i64[2]; expected f32 or f64")});

std::vector<double> gradient(Tensor x) {
  x.set_requires_grad();
  return grad(logsumexp(x, {0}), x).to_vector<double>();
}

}  // namespace

TEST_CASE("logsumexp of entries of minus infinity") {
  CHECK(logsumexp(tensor({-inf, -inf}), {0}).item<double>() == -inf);
  CHECK(gradient(tensor({-inf, -inf})) == std::vector<double>{0, 0});
  CHECK(logsumexp(tensor({-inf, 1.0, 1.0}), {0}).item<double>() == Approx(1.6931472).epsilon(1e-7));
  const auto g = gradient(tensor({-inf, 1.0, 1.0}));
  CHECK(g[0] == 0);
  CHECK(g[1] == Approx(0.5));
  CHECK(g[2] == Approx(0.5));
}

TEST_CASE("logsumexp of an infinity, and of large numbers") {
  CHECK(logsumexp(tensor({inf, 1.0}), {0}).item<double>() == inf);
  const auto g = gradient(tensor({inf, 1.0}));
  CHECK(std::isnan(g[0]));
  CHECK(g[1] == 0);
  CHECK(logsumexp(tensor({1000.f, 1000.f}), {0}).item<float>() == Approx(1000.6931f));
  CHECK(std::isnan(logsumexp(tensor({std::nan(""), 1.0}), {0}).item<double>()));
}
