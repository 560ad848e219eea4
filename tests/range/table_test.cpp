// The section of docs/operations.md on the whole range: written by the hidden test, held by the other.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "operations.h"
#include "walk.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr const char* page = HEED_SOURCE_DIR "/docs/operations.md";
constexpr const char* heading = "## Over the whole range\n";

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Of all rows of an operation, for one dtype.
struct Summary {
  double value = 0, fused = 0, composite = 0, second = 0;

  template <class Row>
  void take(const Row& row, DType dtype) {
    const Worst direct = walk(row, dtype, Form::fused);
    value = std::max(value, direct.ulps[0]);
    fused = std::max(fused, direct.ulps[1]);
    for (const Form form : {Form::recorded, Form::composite}) {
      const Worst worst = walk(row, dtype, form);
      composite = std::max(composite, worst.ulps[1]);
      second = std::max(second, worst.ulps[2]);
    }
  }
};

Summary summary_of(const std::string& op, DType dtype) {
  Summary summary;
  for (const UnaryRow& row : unary_rows()) {
    if (row.op == op) summary.take(row, dtype);
  }
  for (const BinaryRow& row : binary_rows()) {
    if (row.op == op) summary.take(row, dtype);
  }
  return summary;
}

std::string section() {
  std::string text = heading;
  text += R"(
Elementwise operations at ±0, subnormal numbers, every power of two up to the largest number and points between, both sides of the
switches in their code, ±∞ and NaN, against functions in 113 bits: the worst error in units in the last place, on the best target
of an x86-64 with AVX2 or AVX-512. Operations of two operands at all pairs of some eighty such numbers. *slope*: the first derivative
as a kernel computes it (*fused*) and as recorded operations do (*composite*: create_graph, NoFusion); *second*: the second
derivative. What is held, and where: [numerics.md](numerics.md#over-the-whole-range). Written by
`HEED_RANGE_TABLE=docs/operations.md test_range "[range-table]"`.

| operation | f32: value | slope, fused | slope, composite | second | f64: value | slope | second |
| --- | --- | --- | --- | --- | --- | --- | --- |
)";
  for (const char* op : elementwise_operations) {
    const Summary f32 = summary_of(op, DType::f32);
    const Summary f64 = summary_of(op, DType::f64);
    text += fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", op,
                        f32.value, f32.fused, f32.composite, f32.second, f64.value,
                        std::max(f64.fused, f64.composite), f64.second);
  }
  return text;
}

}  // namespace

TEST_CASE("docs/operations.md says how exact each elementwise operation is over the whole range") {
  const std::string text = contents(page);
  const std::size_t begin = text.find(heading);
  REQUIRE(begin != std::string::npos);
  INFO("HEED_RANGE_TABLE=docs/operations.md test_range \"[range-table]\" writes it anew");
  for (const char* op : elementwise_operations) {
    INFO(op);
    CHECK(text.find(fmt::format("\n| {} | ", op), begin) != std::string::npos);
  }
}

TEST_CASE("write the errors over the whole range", "[.range-table]") {
  const char* path = std::getenv("HEED_RANGE_TABLE");
  REQUIRE(path != nullptr);
  const std::string before = contents(path);
  std::ofstream out(path);
  out << before.substr(0, before.find(heading)) << section();
  REQUIRE(out.good());
}
