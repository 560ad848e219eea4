#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/grad_mode.h>
#include <heed/core/vjp_of_composite.h>
#include <heed/tests/core/local_ops.h>

using namespace heed;
using test::leaf;
using test::mul;

namespace {

// y0 = a² b and y1 = e^a, the factor b being optional; the rule is the composite's. Counts
// the composite's runs.
int runs = 0;

std::vector<Tensor> composed(std::span<const Tensor> x) {
  ++runs;
  const Tensor square = mul(x[0], x[0]);
  return {x[1].defined() ? mul(square, x[1]) : square, test::exp(x[0])};
}

struct PairVjp {
  SavedTensor a, b;
  void vjp(VjpContext& context) const { detail::vjp_of_composite(context, {&a, &b}, composed); }
};

std::vector<Tensor> fused(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> y;
  {
    const NoGrad guard;
    y = composed(std::vector<Tensor>{a, b});
  }
  record("pair", {&a, &b}, {&y[0], &y[1]}, [&] { return PairVjp{save_input(a, "a"), save_input(b, "b")}; });
  return y;
}

double value(const Tensor& x) { return x.item<double>(); }

}  // namespace

TEST_CASE("the rule of a composite gives derivatives of every order, through each operand") {
  const Tensor a = leaf(3.0), b = leaf(5.0);
  const std::vector<Tensor> y = fused(a, b);
  const std::vector<Tensor> x{a, b};
  const auto first = grad(std::span(&y[0], 1), x, {.create_graph = true});
  CHECK(value(first[0]) == 2 * 3 * 5);
  CHECK(value(first[1]) == 3 * 3);
  const auto second = grad(std::span(&first[0], 1), x, {.create_graph = true});
  CHECK(value(second[0]) == 2 * 5);
  CHECK(value(second[1]) == 2 * 3);
  CHECK(value(grad(second[0], b)) == 2);
}

TEST_CASE("results without a cotangent and absent operands take no part") {
  const Tensor a = leaf(3.0);
  const std::vector<Tensor> y = fused(a, {});
  CHECK(value(grad(y[0], a, {.retain_graph = true})) == 2 * 3);
  CHECK(value(grad(y[1], a, {.retain_graph = true})) == std::exp(3.0));
  const auto both = grad(y, std::span(&a, 1));
  CHECK(value(both[0]) == 2 * 3 + std::exp(3.0));
}

TEST_CASE("a gradient goes on into the history of the operands, and has none unless it is recorded") {
  const Tensor t = leaf(2.0);
  const Tensor y = fused(test::scale(t, 3), {})[0];  // (3t)²
  runs = 0;
  const Tensor plain = grad(y, t, {.retain_graph = true});
  CHECK(value(plain) == 18 * 2);
  CHECK_FALSE(plain.requires_grad());
  CHECK(runs == 1);
  const Tensor recorded = grad(y, t, {.create_graph = true});
  CHECK(value(recorded) == 18 * 2);
  CHECK(value(grad(recorded, t)) == 18);
}

TEST_CASE("an operand overwritten since is an error that names it") {
  Tensor a = leaf(3.0);
  const Tensor y = fused(a, {})[0];
  {
    const NoGrad guard;
    a.fill_(4);
  }
  CHECK_THROWS_WITH(grad(y, a), Catch::Contains("pair") && Catch::Contains("a is []"));
}
