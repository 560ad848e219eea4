#include <catch2/catch.hpp>

#include "zoo.h"

using namespace heed;
using namespace heed::test::zoo;
using check::IsolationFinding;
using check::IsolationResult;

namespace {

void require_no_alarm(const IsolationResult& result, const Honest& honest) {
  INFO(honest.name << "\n" << result.report());
  CHECK(result.passed);
  CHECK(result.problem.empty());
  CHECK(result.dead_rows == 0);
  CHECK((result.finding == IsolationFinding::nothing ||
         (honest.warns && result.finding == IsolationFinding::weight_zero)));
}

// Every prover that the model's promises answer to.
int ask_all(const Honest& honest) {
  int asked = 0;
  const auto ask = [&](bool applies, const auto& prove) {
    if (!applies) return;
    require_no_alarm(prove(), honest);
    ++asked;
  };
  ask(honest.causal, [&] { return check_causal(honest.model, honest.x, honest.options); });
  ask(honest.isolates_batch, [&] { return check_batch_isolation(honest.model, honest.x, honest.options); });
  ask(honest.causal && honest.isolates_batch,
      [&] { return check_padding(honest.model, honest.x, lengths(), honest.options); });
  ask(honest.lengths.defined(),
      [&] { return check_padding(honest.model, honest.x, honest.lengths, honest.options); });
  ask(honest.documents.defined(),
      [&] { return check_documents(honest.model, honest.x, honest.documents, honest.options); });
  return asked;
}

std::size_t ask_zoo(const std::vector<Honest>& models) {
  for (const Honest& honest : models) {
    DYNAMIC_SECTION(honest.name) { CHECK(ask_all(honest) >= 1); }
  }
  return models.size();
}

}  // namespace

TEST_CASE("no prover accuses honest attention", "[zoo]") { CHECK(ask_zoo(honest_attention()) >= 20); }

TEST_CASE("no prover accuses an honest model for its layout", "[zoo]") {
  CHECK(ask_zoo(honest_layouts()) >= 20);
}

TEST_CASE("no prover accuses honest models without attention", "[zoo]") {
  CHECK(ask_zoo(honest_mixers()) >= 10);
}

TEST_CASE("a model that reads with weight zero warns, and fails where that is asked for", "[zoo]") {
  int warned = 0;
  for (const auto& models : {honest_attention(), honest_mixers()}) {
    for (const Honest& honest : models) {
      if (!honest.warns) continue;
      check::IsolationOptions strict = honest.options;
      strict.poison_proof = true;
      INFO(honest.name);
      CHECK(check_causal(honest.model, honest.x, honest.options).warned());
      CHECK_FALSE(check_causal(honest.model, honest.x, strict).passed);
      ++warned;
    }
  }
  CHECK(warned >= 4);
}
