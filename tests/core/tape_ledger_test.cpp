#include <thread>

#include <catch2/catch.hpp>

#include <heed/core/node.h>
#include <heed/core/scope.h>
#include <heed/core/tape_ledger.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

const LedgerRow& row_of(const LedgerCounts& counts, const std::string& op, const std::string& module = "") {
  for (const LedgerRow& row : counts.rows) {
    if (row.op == op && row.module == module) return row;
  }
  throw std::runtime_error("no row of " + op);
}

}  // namespace

TEST_CASE("the ledger books saved bytes by operation and module", "[ledger]") {
  Tensor x = leaf(zeros({10}, DType::f64));
  const TapeLedger ledger;
  Tensor y;
  {
    const Scope scope("block");
    y = heed::test::exp(x);
  }
  const Tensor z = mul(y, y);
  const LedgerCounts counts = ledger.counts();
  CHECK(row_of(counts, "exp", "block").saved_now == 80);
  CHECK(row_of(counts, "mul").saved_now == 160);
  CHECK(row_of(counts, "mul").nodes == 1);
  CHECK(counts.saved_now == 240);
  CHECK(counts.saved_now == tape_stats().saved_bytes);
  // Both nodes keep the one storage of y.
  CHECK(counts.unique_now == 80);
}

TEST_CASE("the peak keeps the breakdown of its moment", "[ledger]") {
  Tensor x = leaf(zeros({10}, DType::f64));
  const TapeLedger ledger;
  {
    const Tensor y = heed::test::exp(heed::test::exp(x));
    CHECK(ledger.counts().saved_at_peak == 160);  // reading on the way up changes nothing
    backward(sum(mul(y, y)));
  }
  {
    const Tensor small = mul(x, x);
    const LedgerCounts counts = ledger.counts();
    CHECK(counts.saved_now == 160);
    CHECK(counts.unique_now == 80);
    CHECK(counts.saved_at_peak == 320);
    CHECK(counts.unique_at_peak == 160);
    CHECK(row_of(counts, "exp").saved_at_peak == 160);
    CHECK(row_of(counts, "exp").saved_now == 0);
    CHECK(row_of(counts, "exp").nodes == 2);
    CHECK(row_of(counts, "mul").saved_at_peak == 160);
    CHECK(row_of(counts, "mul").saved_now == 160);
    CHECK(row_of(counts, "mul").nodes == 2);
  }
  CHECK(ledger.counts().saved_now == 0);
}

TEST_CASE("nodes are booked by the innermost ledger, and only while it lives", "[ledger]") {
  Tensor x = leaf(zeros({10}, DType::f64));
  const Tensor before = heed::test::exp(x);
  const TapeLedger outer;
  Tensor after;
  {
    const TapeLedger inner;
    after = heed::test::exp(x);
    CHECK(inner.counts().saved_now == 80);
    CHECK(outer.counts().saved_now == 0);
  }
  backward(sum(accumulate(before, after)));  // leaves nothing booked below zero
  CHECK(outer.counts().saved_now == 0);
  CHECK(row_of(outer.counts(), "sum").nodes == 1);
  CHECK(outer.counts().rows.size() == 2);  // sum and accumulate
}

TEST_CASE("nodes leave the ledger on whatever thread drops them", "[ledger][concurrency]") {
  Tensor x = leaf(zeros({10}, DType::f64));
  const TapeLedger ledger;
  for (int k = 0; k < 50; ++k) {
    Tensor y = heed::test::exp(x);
    std::thread dropping([y = std::move(y)]() mutable { y = Tensor(); });
    Tensor z = heed::test::exp(x);
    dropping.join();
  }
  CHECK(ledger.counts().saved_now == 0);
  CHECK(ledger.counts().unique_now == 0);
  CHECK(row_of(ledger.counts(), "exp").nodes == 100);
  bool other = true;
  std::thread([&] {
    const Tensor y = heed::test::exp(x);
    other = ledger.counts().saved_now != 0;
  }).join();
  CHECK_FALSE(other);
}
