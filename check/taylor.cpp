#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/line.h>
#include <heed/check/taylor.h>

namespace heed::check {
namespace {

using Numbers = std::vector<double>;

// A remainder this many times above the noise is used: its logarithm is then right to within a sixteenth.
constexpr double clear_of_noise = 16;
constexpr std::size_t fitted_rows = 6;
// Between order 1, of a wrong J, and order 2, of a right one.
constexpr double least_slope = 1.9;

double norm(const Numbers& values) {
  double sum = 0;
  for (const double v : values) sum = std::hypot(sum, v);
  return sum;
}

Numbers remainder(const Numbers& value, const Numbers& center, const Numbers& product, double step) {
  Numbers result(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) result[i] = (value[i] - center[i]) - step * product[i];
  return result;
}

// The slope of log remainder against log step, by least squares.
double fitted_slope(const std::vector<TaylorRow>& rows) {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const TaylorRow& row : rows) {
    if (!row.used) continue;
    const double a = std::log(row.step);
    const double b = std::log(row.remainder);
    n += 1;
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

// At a kink, a right J v lies between the two one-sided derivatives of each output, and the remainders
// above and below the point have the same sign. Where the function is smooth and J v is wrong, their
// signs are opposite.
bool between_sides(const Numbers& above, const Numbers& below, const Numbers& noise) {
  for (std::size_t i = 0; i < above.size(); ++i) {
    const double level = clear_of_noise * noise[i];
    if (std::abs(above[i]) > level && std::abs(below[i]) > level && above[i] * below[i] < 0) return false;
  }
  return true;
}

class Remainders {
 public:
  Remainders(Line& line, const Numbers& product)
      : line_(line), product_(product), center_(line.at(0)), noise_(line.noise()) {}

  void fill(TaylorResult& result) {
    const int most_rows =
        line_.epsilon() > epsilon_of(DType::f64) ? 12 : 27;  // down to about the square root of ε
    double h = 0.25;
    for (int i = 0; i < most_rows; ++i, h /= 2) {
      result.rows.push_back({h, norm(remainder(line_.at(h), center_, product_, h)), false});
    }
    const std::size_t clear = clear_rows(result.rows);
    if (vanishes(result.rows, clear)) {
      result.linear = true;
      return;
    }
    for (std::size_t i = clear - std::min(clear, fitted_rows); i < clear; ++i) result.rows[i].used = true;
    result.slope = fitted_slope(result.rows);
    if (*result.slope >= least_slope) return;
    h = result.rows.back().step;
    const bool kink = between_sides(remainder(line_.at(h), center_, product_, h),
                                    remainder(line_.at(-h), center_, product_, -h), noise_);
    result.verdict = kink ? Verdict::kink : Verdict::differs;
    result.passed = kink;
  }

 private:
  // The largest remainder that rounding alone, of f and of h J v, can explain.
  double level(double h) const {
    return clear_of_noise * (norm(noise_) + 16 * line_.epsilon() * h * norm(product_));
  }

  // The number of leading rows whose remainder is above rounding error.
  std::size_t clear_rows(const std::vector<TaylorRow>& rows) const {
    std::size_t clear = 0;
    while (clear < rows.size() && !(rows[clear].remainder <= level(rows[clear].step))) ++clear;
    return clear;
  }

  // Whether the remainder vanishes near the point: too few rows are above rounding error to fit a slope, or
  // the remainder falls into rounding error faster than one of order 1 could. Both mean that f is linear
  // near the point.
  bool vanishes(const std::vector<TaylorRow>& rows, std::size_t clear) const {
    if (clear == rows.size()) return false;
    return clear < 3 || rows[clear - 1].remainder > 6 * level(rows[clear].step);
  }

  Line& line_;
  const Numbers& product_;
  Numbers center_;
  Numbers noise_;
};

nlohmann::ordered_json number_or_text(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

}  // namespace

TaylorResult taylor_check(const Function& function, const TensorList& inputs, const TaylorOptions& options) {
  Generator generator(options.seed);
  Line line("taylor_check", function, inputs, generator);
  TaylorResult result;
  result.linear = !line.moves();
  if (result.linear) return result;
  const Numbers product = line.examine(result.verdict, result.problem);
  result.passed = result.problem.empty();
  if (result.passed) Remainders(line, product).fill(result);
  return result;
}

std::string TaylorResult::report() const {
  if (!problem.empty()) return fmt::format("taylor_check: {}; {}", name_of(verdict), problem);
  std::string text = "taylor_check: ";
  if (linear) {
    text += "the remainder is rounding: linear along the direction, and J is right";
  } else if (verdict == Verdict::kink) {
    text += fmt::format("slope {:.2f} at a kink, J v within its sides", *slope);
  } else {
    text +=
        fmt::format("slope {:.2f}, {}", *slope, passed ? "J is right" : "J is wrong; a right one has 2.00");
  }
  text += fmt::format("\n{:>12} {:>12}", "step", "remainder");
  for (const TaylorRow& row : rows) {
    text += fmt::format("\n{:>12.3e} {:>12.3e}{}", row.step, row.remainder, row.used ? "  fitted" : "");
  }
  return text;
}

std::string TaylorResult::to_json() const {
  using Json = nlohmann::ordered_json;
  Json json = {
      {"check", "taylor_check"}, {"passed", passed}, {"verdict", name_of(verdict)},
      {"problem", problem},      {"linear", linear}, {"slope", slope ? number_or_text(*slope) : Json()}};
  json["rows"] = Json::array();
  for (const TaylorRow& row : rows) {
    json["rows"].push_back(
        {{"step", row.step}, {"remainder", number_or_text(row.remainder)}, {"used", row.used}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
