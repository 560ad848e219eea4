// docs/operations.md: written by the hidden test, held to the contracts by the other.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/ops/cast.h>

#include "../support/contracts.h"
#include "../support/rows.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr const char* page = HEED_SOURCE_DIR "/docs/operations.md";

std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

// What the row of an operation says without being measured.
std::string stated(const Contract& contract) {
  return fmt::format("| [`{}`](../{}) | {} | {} | {} | {} |", contract.op, contract.header,
                     cell(contract.equation), cell(contract.parts.at("DTypes")), contract.parts.at("Order"),
                     cell(contract.parts.at("Saves")));
}

double largest_of(const std::vector<Array>& all) {
  double largest = 0;
  for (const Array& a : all) {
    for (const double v : a.values) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  }
  return largest;
}

// Largest distance of `got` from `exact` in units in the last place of f32. Where elements are sums,
// one below a sixteenth of the largest counts in units of that: there, cancellation sets the error
// and not the operation.
double worst_ulp(const std::vector<Array>& got, const std::vector<Array>& exact, bool sums) {
  const double least = sums ? largest_of(exact) / 16 : 0;
  double worst = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    for (std::size_t i = 0; i < exact[k].values.size(); ++i) {
      const double wanted = exact[k].values[i];
      if (!std::isfinite(wanted)) continue;
      const auto size = static_cast<float>(std::max(std::abs(wanted), least));
      const float ulp = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
      worst = std::max(worst, std::abs(got[k].values[i] - wanted) / static_cast<double>(ulp));
    }
  }
  return worst;
}

struct Measured {
  std::optional<double> value, gradient;  // none: no floating results, no gradients
  std::optional<std::int64_t> saved;
  std::int64_t operands = 0;
};

// Of the pairs whose first is f32.
void keep_worst(std::optional<double>& worst, const Tensors& small, const Tensors& exact, bool sums) {
  std::vector<Array> got, wanted;
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (!small[i].defined() || small[i].dtype() != DType::f32) continue;
    got.push_back(to_array(small[i]));
    wanted.push_back(to_array(exact[i]));
  }
  if (!got.empty()) worst = std::max(worst.value_or(0), worst_ulp(got, wanted, sums));
}

Tensors widened(const Tensors& small) {
  const NoGrad guard;
  return map_all(small, [](const Tensor& x) {
    Tensor wide = is_floating(x.dtype()) ? cast(x.detach(), DType::f64) : x;
    return x.requires_grad() ? wide.set_requires_grad() : wide;
  });
}

void measure(const OpCase& c, Measured& m) {
  const Tensors small = make_inputs(c, DType::f32, 1);
  const Tensors wide = widened(small);
  const std::int64_t before = tape_stats().saved_bytes;
  const Tensors y = c.function(small);
  if (!m.saved) {
    m.saved = tape_stats().saved_bytes - before;
    for (const Tensor& x : small) m.operands += x.numel() * static_cast<std::int64_t>(size_of(x.dtype()));
  }
  const Tensors wanted = c.function(wide);
  keep_worst(m.value, y, wanted, !is_elementwise(c));
  if (!c.differentiable) return;
  const Tensors cotangents = cotangents_for(y);
  keep_worst(m.gradient, gradients_of(y, wanted_of(small), cotangents),
             gradients_of(wanted, wanted_of(wide), widened(cotangents)), !is_elementwise(c));
}

std::string number(const std::optional<double>& x) { return x ? fmt::format("{:.1f}", *x) : "–"; }

std::string table() {
  std::string text = R"(# Operations

Every exported operation, from its contract block (the header has the whole of it: shapes, edges, errors) and from the cases
of its test. Written by `HEED_OPERATIONS_TABLE=docs/operations.md test_ops "[operations-table]"`.

- *order*: of derivatives; – where the result is a constant.
- *saved*: what backward keeps, and its bytes for the first case in f32, beside the bytes of the operands.
- *ulp*: largest error in f32, in units in the last place, against the same computation in f64, over the cases. Unless the
  operation works element by element, an element below a sixteenth of the largest counts in units of that; a lone sum that
  cancels still shows. *ulp of gradient*: the same for gradients by random cotangents.

| operation | equation | dtypes | order | saved | bytes saved / of operands | ulp | ulp of gradient |
| --- | --- | --- | --- | --- | --- | --- | --- |
)";
  for (const Contract& contract : contracts()) {
    Measured m;
    for (const OpCase& c : op_cases()) {
      if (c.op == contract.op) measure(c, m);
    }
    text += fmt::format("{} {} / {} | {} | {} |\n", stated(contract), m.saved.value_or(0), m.operands,
                        number(m.value), number(m.gradient));
  }
  return text;
}

}  // namespace

TEST_CASE("docs/operations.md lists the exported operations with their contracts") {
  std::ifstream in(page);
  std::vector<std::string> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| [`")) rows.push_back(line);
  }
  const auto all = contracts();
  INFO("HEED_OPERATIONS_TABLE=docs/operations.md test_ops \"[operations-table]\" writes it anew");
  REQUIRE(rows.size() == all.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i]);
    CHECK(rows[i].starts_with(stated(all[i])));
  }
}

TEST_CASE("write the table of operations", "[.operations-table]") {
  const char* path = std::getenv("HEED_OPERATIONS_TABLE");
  REQUIRE(path != nullptr);
  // The section that tests/range writes stays.
  std::ifstream in(path);
  const std::string before{std::istreambuf_iterator<char>(in), {}};
  const std::size_t range = before.find("## Over the whole range\n");
  std::ofstream out(path);
  out << table();
  if (range != std::string::npos) out << '\n' << before.substr(range);
  REQUIRE(out.good());
}
