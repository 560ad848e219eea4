#include <catch2/catch.hpp>

#include "zoo.h"

using namespace heed;
using namespace heed::test::zoo;
using check::IsolationResult;

namespace {

IsolationResult prove(const Leaky& leaky, const Tensor& x) {
  switch (leaky.prover) {
    case Prover::batch:
      return check_batch_isolation(leaky.model, x, leaky.options);
    case Prover::padding:
      return check_padding(leaky.model, x, lengths(), leaky.options);
    case Prover::documents:
      return check_documents(leaky.model, x, documents(), leaky.options);
    default:
      return check_causal(leaky.model, x, leaky.options);
  }
}

std::size_t ask_zoo(const std::vector<Leaky>& models) {
  for (const Leaky& leaky : models) {
    DYNAMIC_SECTION(leaky.name) {
      const IsolationResult result = prove(leaky, leaky.x.defined() ? leaky.x : sequence());
      INFO(result.report());
      CHECK_FALSE(result.passed);
      CHECK(result.problem.empty());
      CHECK(result.finding == leaky.finding);
      CHECK(result.op == leaky.op);
      CHECK_THAT(result.scope, Catch::EndsWith(leaky.scope));
    }
  }
  return models.size();
}

}  // namespace

TEST_CASE("attention that leaks is found, with the operation and its module", "[zoo]") {
  CHECK(ask_zoo(leaky_attention()) >= 20);
}

TEST_CASE("sequences that are shifted, reversed or mixed are found", "[zoo]") {
  CHECK(ask_zoo(leaky_mixers()) >= 20);
}

TEST_CASE("statistics over positions and samples are found", "[zoo]") {
  CHECK(ask_zoo(leaky_statistics()) >= 12);
}

TEST_CASE("models of tokens that leak are found", "[zoo]") { CHECK(ask_zoo(leaky_tokens()) >= 8); }
