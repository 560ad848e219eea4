// Every elementwise operation through the whole range of f32 and f64: value, first and second derivative,
// fused and composite, on every SIMD target, against functions in 113 bits.
#include <cstdlib>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include <heed/ops/kernels/targets.h>

#include "operations.h"
#include "walk.h"

using namespace heed;
using namespace heed::test;

namespace {

// In units in the last place, as docs/numerics.md states it.
constexpr double bound_with_fma = 8;

bool has_fma(const std::string& target) {
  return target != "SSE4" && target != "SCALAR" && target != "EMU128";
}

template <class Row>
void hold(const Row& row, double bound) {
  const char* only = std::getenv("HEED_OP");
  if (only != nullptr && std::string(row.op) != only) return;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Form form : {Form::fused, Form::recorded, Form::composite}) {
      const Worst worst = walk(row, dtype, form);
      for (std::size_t order = 0; order < worst.ulps.size(); ++order) {
        CAPTURE(row.op, row.name, dtype == DType::f32, int(form), order, worst.where[order]);
        CHECK(worst.ulps[order] <= bound);
      }
    }
  }
}

}  // namespace

TEST_CASE("elementwise operations keep their digits over the whole range") {
  for (const std::string& target : kernels::simd_targets()) {
    REQUIRE(kernels::use_simd_target(target));
    INFO("on " << target);
    const bool fma = has_fma(target);
    for (const UnaryRow& row : unary_rows()) hold(row, fma ? bound_with_fma : row.without_fma);
    for (const BinaryRow& row : binary_rows()) hold(row, fma ? bound_with_fma : row.without_fma);
    REQUIRE(kernels::use_simd_target(""));
  }
}

TEST_CASE("every elementwise operation is walked through the range") {
  std::set<std::string> walked;
  for (const UnaryRow& row : unary_rows()) walked.insert(row.op);
  for (const BinaryRow& row : binary_rows()) walked.insert(row.op);
  for (const char* op : elementwise_operations) {
    INFO(op);
    CHECK(walked.count(op) == 1);
  }
}
