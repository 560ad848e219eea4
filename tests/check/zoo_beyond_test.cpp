#include <catch2/catch.hpp>

#include <heed/ops/arithmetic.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/embedding.h>
#include <heed/ops/pad.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/where.h>

#include "zoo.h"

// What docs/isolation.md calls out of reach, with its examples: the provers pass these, and the page says so.

using namespace heed;
using namespace heed::test::zoo;
using check::check_causal;

namespace {

// The vector of a token, twice as long where the next token is `trigger`.
check::SequenceModel listens_for(std::int64_t trigger) {
  return [=](const Tensor& x) {
    const Tensor next = pad(cast(eq(slice(x, 1, 1), trigger), DType::f64), {0, 0}, {0, 1});
    return embedding(parameter(50000, 2), x) * unsqueeze(next + 1.0, -1);
  };
}

}  // namespace

TEST_CASE("out of reach: a leak that one token in fifty thousand opens", "[zoo]") {
  CHECK(check_causal(listens_for(40000), tokens(), {.vocab_size = 50000}).passed);
  CHECK_FALSE(check_causal(listens_for(3), tokens()).passed);
}

TEST_CASE("out of reach: a leak that only longer sequences have", "[zoo]") {
  const auto model = [](const Tensor& x) { return x.size(1) > 8 ? x + earlier(x) : x * 2.0; };
  CHECK(check_causal(model, sequence()).passed);
  Generator generator(1);
  CHECK_FALSE(check_causal(model, randn({2, 9, width}, generator)).passed);
}

TEST_CASE("out of reach: a leak behind a gate that is closed as it starts", "[zoo]") {
  const auto model_of = [](double gate) {
    return [=](const Tensor& x) { return gate > 0 ? x + gate * earlier(x) : x * 2.0; };
  };
  CHECK(check_causal(model_of(0), sequence()).passed);
  CHECK_FALSE(check_causal(model_of(0.1), sequence()).passed);
  // A gate that multiplies is read all the same.
  CHECK(check_causal([](const Tensor& x) { return x + 0.0 * earlier(x); }, sequence()).warned());
}

TEST_CASE("out of reach: one row without a derivative, between the cuts of a long sequence", "[zoo]") {
  const auto model = [](const Tensor& x) {
    const Tensor next = narrow(x, 1, 158, 1).detach();
    return x + pad(next, {0, 157, 0}, {0, x.size(1) - 158, 0});
  };
  Generator generator(1);
  const Tensor x = randn({1, 300, 2}, generator, DType::f64);
  const auto result = check_causal(model, x);
  INFO(result.report());
  CHECK(result.passed);
  CHECK(result.report().find("64 by random replacement of 299 questions were asked") != std::string::npos);
  CHECK_FALSE(check_causal(model, x, {.max_questions = 299}).passed);
}
