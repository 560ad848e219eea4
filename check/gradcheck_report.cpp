#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/gradcheck.h>

namespace heed::check {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t most_listed = 20;

bool worse(const GradcheckElement& a, const GradcheckElement& b) {
  return a.error > b.error || (std::isnan(a.error) && !std::isnan(b.error));
}

void keep(std::vector<GradcheckElement>& list, const GradcheckElement& element) {
  list.push_back(element);
  std::stable_sort(list.begin(), list.end(), worse);
  if (list.size() > most_listed) list.pop_back();
}

std::string table(const std::vector<GradcheckElement>& elements, const char* tensor) {
  std::string text = fmt::format("\n{:>6} {:>12} {:>24} {:>36} {:>12}  {}", tensor, "index", "analytic",
                                 "numeric ± bar", "error/bound", "verdict");
  for (const GradcheckElement& e : elements) {
    text += fmt::format("\n{:>6} {:>12} {:>24.16g} {:>36} {:>12.3g}  {}", e.tensor, e.position.str(),
                        e.analytic, fmt::format("{:.16g} ± {:.1e}", e.numeric, e.bar), e.error, e.text());
  }
  return text;
}

OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(fmt::format("{}", value));
}

OrderedJson json_of(const GradcheckElement& e) {
  OrderedJson json = {{"tensor", e.tensor},
                      {"index", std::vector<std::int64_t>(e.position.begin(), e.position.end())},
                      {"analytic", number(e.analytic)},
                      {"numeric", number(e.numeric)},
                      {"bar", number(e.bar)},
                      {"error_over_bound", number(e.error)},
                      {"verdict", name_of(e.verdict)}};
  if (e.kink) {
    json["left"] = number(e.left);
    json["right"] = number(e.right);
  }
  return json;
}

OrderedJson json_of(const std::vector<GradcheckElement>& elements) {
  OrderedJson list = OrderedJson::array();
  for (const GradcheckElement& e : elements) list.push_back(json_of(e));
  return list;
}

}  // namespace

void GradcheckResult::add(const GradcheckElement& element, double largest) {
  ++checked;
  ++counts[static_cast<std::size_t>(element.verdict)];
  verdict = std::max(verdict, element.verdict);
  if (checked == 1 || !(element.error <= worst.error)) worst = element;
  if (!element.kink) {
    const double apart = std::abs(element.analytic - element.numeric) + element.bar;
    const double relative = largest > 0 ? apart / largest : apart;
    if (!(relative <= proven)) proven = relative;
  }
  if (element.verdict == Verdict::kink) keep(kinks, element);
  if (element.verdict <= Verdict::kink) return;
  passed = false;
  keep(failures, element);
}

void GradcheckResult::refuse(Verdict reason, std::string problem_in_words) {
  passed = false;
  verdict = reason;
  problem = std::move(problem_in_words);
}

std::string GradcheckResult::report() const {
  if (!problem.empty()) return fmt::format("{}: {}; {}", check, name_of(verdict), problem);
  const char* tensor = check == "jvp_check" ? "output" : "input";
  if (!passed) {
    std::string tally;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      tally += fmt::format("{}{} {}", tally.empty() ? "" : ", ", counts[i], name_of(static_cast<Verdict>(i)));
    }
    return fmt::format("{}: failed, of {} elements {}; the worst {}:", check, checked, tally,
                       failures.size()) +
           table(failures, tensor);
  }
  std::string text = fmt::format(
      "{}: {} elements agree, the worst within {:.2g} of its bound; right to {:.1e} of "
      "the largest",
      check, counts[0], worst.error, proven);
  if (kinks.empty()) return checked == 0 ? text : text + table({worst}, tensor);
  return text + fmt::format("; {} at kinks, within their subgradients:", counts[1]) + table(kinks, tensor);
}

std::string GradcheckResult::to_json() const {
  OrderedJson by_verdict = OrderedJson::object();
  for (std::size_t i = 0; i < counts.size(); ++i) by_verdict[name_of(static_cast<Verdict>(i))] = counts[i];
  OrderedJson json = {{"check", check},       {"passed", passed},        {"verdict", name_of(verdict)},
                      {"problem", problem},   {"checked", checked},      {"evaluations", evaluations},
                      {"counts", by_verdict}, {"proven", number(proven)}};
  if (checked > 0) json["worst"] = json_of(worst);
  json["failures"] = json_of(failures);
  json["kinks"] = json_of(kinks);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace heed::check
