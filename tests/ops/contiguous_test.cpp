#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/contiguous.h>
#include <heed/ops/transpose.h>

#include "../support/op_case.h"

using namespace heed;
using namespace heed::test;

namespace {

const Registration registration({{"clone",
                                  "plain",
                                  {{{2, 3}}},
                                  unary([](const Tensor& x) { return clone(x); }),
                                  elementwise([](double v) { return v; })},
                                 {"contiguous",
                                  "of a transpose",
                                  {{{2, 3}}},
                                  unary([](const Tensor& x) { return contiguous(transpose(x)); }),
                                  [](const std::vector<Array>& in) {
                                    const auto& v = in[0].values;
                                    return Array{{3, 2}, {v[0], v[3], v[1], v[4], v[2], v[5]}};
                                  }}},
                                {throws<ValueError>(
                                     "contiguous", "undefined", [] { contiguous(Tensor()); },
                                     "contiguous: tensor is undefined, x is undefined; expected a tensor"),
                                 throws<ValueError>(
                                     "clone", "undefined", [] { clone(Tensor()); },
                                     "clone: tensor is undefined, x is undefined; expected a tensor")});

}  // namespace

TEST_CASE("contiguous is x itself where nothing is to be done; clone never is") {
  const Tensor x = ones({2, 3});
  REQUIRE(contiguous(x).impl() == x.impl());
  REQUIRE(contiguous(transpose(x)).is_contiguous());
  REQUIRE(clone(x).storage().get() != x.storage().get());
}
