// Norms and losses over rows of every magnitude: value, first and second derivative, fused and composite, in
// f32 and f64, against functions in 113 bits.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/fusion.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/sum.h>

#include "../support/contracts.h"
#include "row_cases.h"

using namespace heed;
using namespace heed::test;

namespace {

// What docs/numerics.md states: units in the last place of the largest of the result and its terms.
constexpr double fused_bound = 8;

constexpr std::size_t width = 5;

// Numbers without a pattern in (−1, 1) for a place.
double noise(std::size_t place) {
  return 2 * std::fmod(0.6180339887498949 * static_cast<double>(place + 1) * 7, 1.0) - 1;
}

template <class T>
using Rows = std::vector<std::array<T, width>>;

// Rows of every power of two, around a mean that is large beside what they differ by, with one element far
// above the others, and with ties.
template <class T>
Rows<T> first_rows() {
  using Limits = std::numeric_limits<T>;
  Rows<T> rows;
  const auto add = [&](auto&& element) {
    std::array<T, width> row;
    for (std::size_t i = 0; i < width; ++i) row[i] = static_cast<T>(element(i, rows.size() * width + i));
    rows.push_back(row);
  };
  // From where a row has no subnormal operands, which f32's kernels may take as zero.
  for (int e = Limits::min_exponent + 26; e < Limits::max_exponent; ++e)
    add([&](std::size_t, std::size_t place) {
      return std::ldexp(0.25 + 0.75 * std::abs(noise(place)), e) * (noise(place) < 0 ? -1 : 1);
    });
  for (int e = 2; e < Limits::digits; ++e)
    add([&](std::size_t, std::size_t place) { return std::ldexp(1.0, e) + noise(place); });
  for (const double far : {1.0, 5.0, 20.0, 50.0, 80.0, 300.0, 700.0, 1e4}) {
    for (std::size_t top = 0; top < width; ++top)
      add([&](std::size_t i, std::size_t place) { return i == top ? far : noise(place); });
  }
  for (const double tie : {0.0, 3.0, 40.0})
    add([&](std::size_t i, std::size_t place) {
      return i % 2 == 0 ? tie : tie - 1 - std::abs(noise(place));
    });
  return rows;
}

template <class T>
Rows<T> second_rows(const Rows<T>& first, Second kind) {
  Rows<T> rows = first;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double total = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double u = std::abs(noise(r * width + i + 3));
      total += 1 + u;
      const double share = 0.1 + 0.8 * u;
      const double around = static_cast<double>(first[r][i]) * (1 + 0.25 * noise(r * width + i + 7));
      rows[r][i] = static_cast<T>(kind == Second::like_first    ? around
                                  : kind == Second::zero_or_one ? (u < 0.5 ? 0 : 1)
                                                                : share);
    }
    if (kind != Second::distribution && kind != Second::log_distribution) continue;
    for (std::size_t i = 0; i < width; ++i) {
      const double p = (1 + std::abs(noise(r * width + i + 3))) / total;
      rows[r][i] = static_cast<T>(kind == Second::distribution ? p : std::log(p));
    }
  }
  return rows;
}

template <class T>
Tensor tensor_of(const Rows<T>& rows) {
  return from_span<T>(std::span(rows.data()->data(), rows.size() * width),
                      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)});
}

// Cotangents of results and directions of the second derivative, the same for each row. Exact in f32.
double cotangent_at(std::size_t i) { return 0.75 - 0.3125 * static_cast<double>(i % 4); }
double direction_at(std::size_t operand, std::size_t i) {
  return 0.5 - 0.375 * static_cast<double>((i + 2 * operand) % 4);
}

// What is wanted of one operand of one row: [value or gradient or second derivative] at each element.
struct Wanted {
  std::vector<std::vector<Terms>> value;  // rows × results
  std::vector<std::vector<std::vector<Terms>>>
      slopes;  // operands × rows × elements; at[1] first, at[3] second
};

template <class T>
Wanted wanted_of(const RowCase& c, const std::vector<Rows<T>>& operands) {
  Wanted w;
  w.slopes.resize(operands.size());
  for (std::size_t r = 0; r < operands[0].size(); ++r) {
    const auto lines = [&](std::size_t operand, std::size_t element) {
      std::vector<Line> in(operands.size());
      for (std::size_t o = 0; o < operands.size(); ++o) {
        for (std::size_t i = 0; i < width; ++i) {
          const bool moved = o == operand && i == element;
          in[o].push_back(
              number(static_cast<Quad>(operands[o][r][i]), moved ? 1 : 0, quad(direction_at(o, i))));
        }
      }
      return in;
    };
    w.value.push_back(c.wanted(lines(0, 0)));
    for (std::size_t o = 0; o < operands.size(); ++o) {
      w.slopes[o].emplace_back();
      for (std::size_t i = 0; i < width; ++i) {
        const Line y = c.wanted(lines(o, i));
        Terms sum;
        for (std::size_t k = 0; k < y.size(); ++k) sum = sum + quad(cotangent_at(k)) * y[k];
        w.slopes[o].back().push_back(sum);
      }
    }
  }
  return w;
}

// By fused kernels; the gradients recorded, and theirs by fused kernels again; nothing fused.
enum class Form { fused, recorded, composite };

struct Worst {
  double ulps = 0;
  std::string where;
};

template <class T>
void take(Worst& worst, T got, const Terms& wanted, std::size_t component, const std::string& where) {
  const Quad right = wanted.at[component];
  // What f32's kernels flush, and what f64 rounds below its normal numbers.
  const Quad least = static_cast<Quad>(std::numeric_limits<T>::min());
  if (std::isfinite(got) && fabsq(static_cast<Quad>(got) - right) <= least) return;
  const double off = ulps_off<T>(got, right, wanted.size[component]);
  if (off <= worst.ulps) return;
  worst = {off, fmt::format("{} is {}, not {}", where, got, static_cast<double>(right))};
}

std::string place(const std::string& what, std::size_t row, std::size_t i, double x) {
  return fmt::format("{} in row {} that begins with {}, element {}", what, row, x, i);
}

template <class T>
std::array<Worst, 3> walk(const RowCase& c, const std::vector<Rows<T>>& operands, const Wanted& wanted,
                          Form form) {
  std::optional<NoFusion> guard;
  if (form == Form::composite) guard.emplace();
  const bool fused = form == Form::fused;
  std::array<Worst, 3> worst;
  std::vector<Tensor> x;
  for (const Rows<T>& rows : operands) x.push_back(tensor_of(rows).set_requires_grad());
  const Tensor y = c.function(x);
  const std::vector<T> values = y.template to_vector<T>();
  const std::size_t results = wanted.value[0].size();
  REQUIRE(values.size() == wanted.value.size() * results);
  std::vector<T> u;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t r = i / results;
    take(worst[0], values[i], wanted.value[r][i % results], 0,
         place("result", r, i % results, static_cast<double>(operands[0][r][0])));
    u.push_back(static_cast<T>(cotangent_at(i % results)));
  }
  const Tensor cotangent = from_span<T>(u, y.shape());
  const auto slopes = [&](bool record) {
    return grad(
        std::span(&y, 1), x,
        {.grad_outputs = {cotangent}, .retain_graph = true, .create_graph = record, .allow_unused = true});
  };
  const auto compare = [&](Worst& to, const std::vector<Tensor>& got, std::size_t component,
                           const char* what) {
    for (std::size_t o = 0; o < got.size(); ++o) {
      const std::vector<T> g =
          got[o].defined() ? got[o].template to_vector<T>() : std::vector<T>(operands[o].size() * width);
      for (std::size_t i = 0; i < g.size(); ++i) {
        const std::size_t r = i / width;
        take(to, g[i], wanted.slopes[o][r][i % width], component,
             place(fmt::format("{} of operand {}", what, o), r, i % width,
                   static_cast<double>(operands[0][r][0])));
      }
    }
  };
  compare(worst[1], slopes(!fused), 1, "gradient");
  if (fused) return worst;
  Tensor along;
  const std::vector<Tensor> first = slopes(true);
  for (std::size_t o = 0; o < x.size(); ++o) {
    if (!first[o].defined()) continue;
    std::vector<T> v;
    for (std::size_t i = 0; i < operands[o].size() * width; ++i)
      v.push_back(static_cast<T>(direction_at(o, i % width)));
    const Tensor term = sum(mul(first[o], from_span<T>(v, first[o].shape())));
    along = along.defined() ? add(along, term) : term;
  }
  if (!along.requires_grad()) return worst;
  compare(worst[2], grad(std::span(&along, 1), x, {.allow_unused = true}), 3, "second derivative");
  return worst;
}

template <class T>
std::array<std::array<Worst, 3>, 3> walk_all(const RowCase& c) {
  std::vector<Rows<T>> operands = {first_rows<T>()};
  if (!c.smooth_at_zero)
    std::erase_if(operands[0],
                  [](const auto& row) { return std::find(row.begin(), row.end(), T(0)) != row.end(); });
  if (c.second != Second::none) operands.push_back(second_rows(operands[0], c.second));
  const Wanted wanted = wanted_of(c, operands);
  return {walk(c, operands, wanted, Form::fused), walk(c, operands, wanted, Form::recorded),
          walk(c, operands, wanted, Form::composite)};
}

template <class T>
void check(const RowCase& c) {
  const auto worst = walk_all<T>(c);
  for (std::size_t form = 0; form < 3; ++form) {
    for (std::size_t order = 0; order < 3; ++order) {
      const char* dtype = sizeof(T) == 4 ? "f32" : "f64";
      CAPTURE(c.op, c.name, dtype, form, order, worst[form][order].where);
      CHECK(worst[form][order].ulps <= (form == 0 ? fused_bound : c.composite_bound));
    }
  }
}

constexpr const char* page = HEED_SOURCE_DIR "/docs/operations.md";
constexpr const char* heading = "\n## Norms and losses over the whole range\n";
constexpr const char* next_heading = "\n## ";

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string section() {
  std::string text = heading;
  text += R"(
The worst error over rows of every power of two, around large means, with ties and with one element far above the others, in units in the
last place of the largest of result and terms ([numerics.md](numerics.md#losses-and-norms-over-the-whole-range)). *Composed*: recorded
operations, by create_graph or in a NoFusion scope; *second*: the second derivative along a direction. Written by
`HEED_ROWS_TABLE=docs/operations.md test_range "[rows-table]"`.

| operation | f32: value | slope, fused | slope, composite | second | f64: value | slope, fused | slope, composite | second |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
)";
  std::map<std::string, std::array<double, 8>> all;
  for (const auto& cases : {norm_cases(), loss_cases()}) {
    for (const RowCase& c : cases) {
      std::array<double, 8>& row = all[c.op];
      const auto take = [&](std::size_t at, const std::array<std::array<Worst, 3>, 3>& worst) {
        for (std::size_t form = 0; form < 3; ++form) {
          row[at] = std::max(row[at], worst[form][0].ulps);
          row[at + (form == 0 ? 1 : 2)] = std::max(row[at + (form == 0 ? 1 : 2)], worst[form][1].ulps);
          row[at + 3] = std::max(row[at + 3], worst[form][2].ulps);
        }
      };
      take(0, walk_all<float>(c));
      take(4, walk_all<double>(c));
    }
  }
  for (const auto& [op, row] : all) {
    text += fmt::format("| {} |", op);
    for (const double ulps : row) text += fmt::format(" {:.1f} |", ulps);
    text += '\n';
  }
  return text;
}

void check_all(const std::vector<RowCase>& cases) {
  const char* only = std::getenv("HEED_OP");
  for (const RowCase& c : cases) {
    if (only != nullptr && std::string(c.op) != only) continue;
    check<float>(c);
    check<double>(c);
  }
}

}  // namespace

TEST_CASE("norms keep their digits for rows of every magnitude") { check_all(norm_cases()); }

TEST_CASE("losses keep their digits for rows of every magnitude") { check_all(loss_cases()); }

TEST_CASE("each norm and each loss has a row") {
  std::set<std::string> covered = {"cross_entropy_sum"};  // cross_entropy with another reduction
  for (const RowCase& c : norm_cases()) covered.insert(c.op);
  for (const RowCase& c : loss_cases()) covered.insert(c.op);
  for (const Contract& contract : contracts()) {
    const auto is = [&](const char* part) { return contract.op.find(part) != std::string::npos; };
    if (!is("norm") && !is("loss") && !is("softmax") && !is("entropy") && !is("_div") && !is("variance") &&
        !is("deviation") && !is("sumexp"))
      continue;
    INFO(contract.op << " is a norm or a loss without a row in tests/range");
    CHECK(covered.contains(contract.op));
  }
}

TEST_CASE("docs/operations.md says how exact each norm and each loss is over the whole range") {
  const std::string text = contents(page);
  const std::size_t begin = text.find(heading);
  REQUIRE(begin != std::string::npos);
  for (const auto& cases : {norm_cases(), loss_cases()}) {
    for (const RowCase& c : cases) {
      INFO(c.op << ": HEED_ROWS_TABLE=docs/operations.md test_range \"[rows-table]\" writes it anew");
      CHECK(text.find(fmt::format("\n| {} | ", c.op), begin) != std::string::npos);
    }
  }
}

TEST_CASE("write the errors of norms and losses", "[.rows-table]") {
  const char* path = std::getenv("HEED_ROWS_TABLE");
  REQUIRE(path != nullptr);
  const std::string before = contents(path);
  // In its old place, or before the first section.
  const std::size_t own = before.find(heading);
  const std::size_t begin =
      std::min(own == std::string::npos ? before.find(next_heading) : own, before.size());
  const std::size_t end =
      own == std::string::npos ? begin : std::min(before.find(next_heading, own + 1), before.size());
  std::ofstream out(path);
  out << before.substr(0, begin) << section() << before.substr(end);
  REQUIRE(out.good());
}
