#include <string>

#include <catch2/catch.hpp>

#include <heed/check/ledger.h>
#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/core/scope.h>
#include <heed/nn/linear.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/sum.h>

using namespace heed;

TEST_CASE("the ledger as text, by operation and by module", "[ledger]") {
  LedgerCounts counts;
  counts.saved_now = 8;
  counts.saved_at_peak = 1048;
  counts.unique_now = 8;
  counts.unique_at_peak = 524;
  counts.rows = {{"mul", "blocks.0", 3, 8, 24}, {"exp", "blocks.0", 1, 0, 512}, {"mul", "", 2, 0, 512}};
  CHECK(check::ledger_report(counts) ==
        "saved bytes: 1048 at the peak (524 in storages), 8 now (8 in storages)\n"
        "\n"
        "operation   saved at peak       saved now     nodes\n"
        "mul                   536               8         5\n"
        "exp                   512               0         1\n"
        "\n"
        "module     saved at peak       saved now     nodes\n"
        "blocks.0             536               8         4\n"
        "-                    512               0         2\n");
}

TEST_CASE("an empty ledger prints its headings", "[ledger]") {
  CHECK(check::ledger_report({}) ==
        "saved bytes: 0 at the peak (0 in storages), 0 now (0 in storages)\n"
        "\n"
        "operation   saved at peak       saved now     nodes\n"
        "\n"
        "module   saved at peak       saved now     nodes\n");
}

TEST_CASE("the ledger books operations under the modules they ran in", "[ledger]") {
  Generator generator(1);
  const nn::Linear layer({.in = 4, .out = 3}, generator);
  const Tensor x = randn({5, 4}, generator);
  const TapeLedger ledger;
  {
    const Scope scope("model");
    const Tensor y = exp(layer(x));
    CHECK(ledger.counts().saved_now > 5 * 4 * 4);
    backward(sum(mul(y, y)));
  }
  const LedgerCounts counts = ledger.counts();
  CHECK(counts.saved_now == 0);
  CHECK(counts.unique_now == 0);
  std::int64_t by_linear = 0;
  std::int64_t by_exp = 0;
  for (const LedgerRow& row : counts.rows) {
    if (row.module == "model.Linear") by_linear += row.saved_at_peak;
    if (row.op == "exp") {
      by_exp += row.saved_at_peak;
      CHECK(row.module == "model");
    }
  }
  CHECK(by_linear >= 5 * 4 * 4);  // x at least, for the gradient of the weight
  CHECK(by_exp == 5 * 3 * 4);
  const std::string report = check::ledger_report(counts);
  CHECK_THAT(report, Catch::Contains("model.Linear"));
}
