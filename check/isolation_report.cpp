#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/isolation.h>

namespace heed::check {
namespace {

constexpr IsolationWay ways[] = {IsolationWay::planted_nan, IsolationWay::gradient,
                                 IsolationWay::replacement};

std::string place_text(const SequencePlace& place) {
  return fmt::format("position {} of sample {}", place.position, place.sample);
}

std::string_view finding_of(IsolationWay way, bool leaks) {
  switch (way) {
    case IsolationWay::planted_nan:
      return leaks ? "reaches what it must not reach" : "leaves every bit as it was";
    case IsolationWay::gradient:
      return leaks ? "is not zero" : "is exactly zero";
    case IsolationWay::replacement:
      break;
  }
  return leaks ? "changes what it must not change" : "leaves every bit as it was";
}

std::string line_of(IsolationWay way, const IsolationEvidence& evidence) {
  const std::string begin = fmt::format("\n  {:<23}  ", name_of(way));
  if (!evidence.not_asked.empty()) return begin + "not asked: " + evidence.not_asked;
  const bool leaks = evidence.leaks > 0;
  return begin + fmt::format("{} in {} of {} questions", finding_of(way, leaks),
                             leaks ? evidence.leaks : evidence.asked, evidence.asked);
}

nlohmann::ordered_json json_of(const SequencePlace& place) {
  return {{"sample", place.sample}, {"position", place.position}};
}

}  // namespace

std::string_view name_of(IsolationWay way) {
  switch (way) {
    case IsolationWay::planted_nan:
      return "planted NaN";
    case IsolationWay::gradient:
      return "vector-Jacobian product";
    case IsolationWay::replacement:
      break;
  }
  return "random replacement";
}

std::string IsolationResult::report() const {
  if (!problem.empty()) return fmt::format("{}: nothing proven; {}", check, problem);
  std::string text =
      passed ? fmt::format("{}: passed, {}", check, question)
             : fmt::format("{}: failed, the output at {} hears {}", check, place_text(to), place_text(from));
  for (const IsolationWay way : ways) text += line_of(way, by(way));
  std::int64_t asked = 0;
  for (const IsolationEvidence& e : evidence) asked = std::max(asked, e.asked);
  if (asked < possible) text += fmt::format("\n  {} of {} questions were asked", asked, possible);
  if (passed) return text;
  if (op.empty()) return text + "\n  no operation on the tape carries it there";
  return text + fmt::format("\n  the first operation that carries it there: {}{}{}", op,
                            scope.empty() ? "" : " in ", scope);
}

std::string IsolationResult::to_json() const {
  using Json = nlohmann::ordered_json;
  Json json = {{"check", check}, {"passed", passed}, {"problem", problem}, {"question", question}};
  json["possible"] = possible;
  json["evidence"] = Json::array();
  for (const IsolationWay way : ways) {
    const IsolationEvidence& e = by(way);
    Json entry = {{"way", name_of(way)}, {"asked", e.asked}, {"leaks", e.leaks}};
    if (!e.not_asked.empty()) entry["not_asked"] = e.not_asked;
    json["evidence"].push_back(std::move(entry));
  }
  if (!passed && problem.empty()) {
    json["leak"] = {{"from", json_of(from)}, {"to", json_of(to)}, {"op", op}, {"scope", scope}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
