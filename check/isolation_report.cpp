#include <algorithm>
#include <string>
#include <vector>

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

std::string_view answer_of(IsolationWay way, bool leaks) {
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
  return begin + fmt::format("{} in {} of {} questions", answer_of(way, leaks),
                             leaks ? evidence.leaks : evidence.asked, evidence.asked);
}

std::string in_scope(const std::string& scope) { return scope.empty() ? "" : " in " + scope; }

// The share of the questions that was asked, if not all were.
std::string share_of(const IsolationResult& result) {
  std::vector<std::string> parts;
  std::vector<std::int64_t> asked;
  for (const IsolationWay way : ways) {
    const IsolationEvidence& e = result.by(way);
    if (!e.not_asked.empty()) continue;
    asked.push_back(e.asked);
    if (e.asked < result.possible) {
      parts.push_back(fmt::format("{} by {}", e.asked, name_of(way)));
    }
  }
  if (parts.empty()) return "";
  const bool alike = std::count(asked.begin(), asked.end(), asked[0]) == std::ssize(asked);
  const std::string share = fmt::format("{}", fmt::join(parts, " and "));
  return fmt::format("; {} of {} questions were asked", alike ? std::to_string(asked[0]) : share,
                     result.possible);
}

// The operation that carries the leak.
std::string carrier_of(const IsolationResult& result) {
  if (result.op.empty()) return "\n  no operation on the tape carries it there";
  const bool unseen = result.finding == IsolationFinding::value;
  return fmt::format("\n  the first operation that {}: {}{}",
                     unseen ? "has heard of it on its way there" : "carries it there", result.op,
                     in_scope(result.scope));
}

std::string headline_of(const IsolationResult& result) {
  const std::string pair = fmt::format("{} {} {}", place_text(result.to),
                                       result.finding == IsolationFinding::weight_zero ? "reads" : "hears",
                                       place_text(result.from));
  if (result.finding == IsolationFinding::weight_zero) {
    return fmt::format("{}, the output at {} with weight zero: {}, not poison-proof{}",
                       result.passed ? "passed with a warning" : "failed", pair,
                       result.check == "check_causal" ? "causal" : "isolated", share_of(result));
  }
  if (result.finding != IsolationFinding::nothing) {
    return fmt::format("failed, the output at {}; {}{}", pair, name_of(result.finding), share_of(result));
  }
  if (!result.passed) return fmt::format("failed, rows within their length hear nothing{}", share_of(result));
  return fmt::format("passed, {}{}", result.question, share_of(result));
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

std::string_view name_of(IsolationFinding finding) {
  switch (finding) {
    case IsolationFinding::nothing:
      return "nothing is heard";
    case IsolationFinding::weight_zero:
      return "only a value that is not finite is heard";
    case IsolationFinding::value:
      return "a finite replacement is heard";
    case IsolationFinding::derivative:
      break;
  }
  return "the derivative hears it";
}

std::string IsolationResult::report() const {
  if (!problem.empty()) return fmt::format("{}: nothing proven; {}", check, problem);
  std::string text = fmt::format("{}: {}", check, headline_of(*this));
  for (const IsolationWay way : ways) text += line_of(way, by(way));
  if (finding != IsolationFinding::nothing) text += carrier_of(*this);
  if (dead_rows == 0) return text;
  text += fmt::format("\n  {} rows within their length hear nothing, the first at {}", dead_rows,
                      place_text(dead));
  return text +
         (dead_op.empty() ? "" : fmt::format(" of the queries of {}{}", dead_op, in_scope(dead_scope)));
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
  json["finding"] = name_of(finding);
  json["warned"] = warned();
  if (finding != IsolationFinding::nothing) {
    json["leak"] = {{"from", json_of(from)}, {"to", json_of(to)}, {"op", op}, {"scope", scope}};
  }
  if (dead_rows > 0) {
    json["dead_rows"] = {
        {"count", dead_rows}, {"first", json_of(dead)}, {"op", dead_op}, {"scope", dead_scope}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
