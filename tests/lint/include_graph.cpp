#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include <heed/tests/lint/include_graph.h>

namespace heed::lint {
namespace {

/// The path of an included file, "" if it lies outside of the tree.
std::string resolved(const SourceFile& file, const Include& include, const std::set<std::string>& known) {
  constexpr std::string_view heed_prefix = "heed/";
  std::string path = include.target;
  if (include.quoted) {
    path = (std::filesystem::path(file.path).parent_path() / path).lexically_normal().generic_string();
  } else if (path.starts_with(heed_prefix)) {
    path = path.substr(heed_prefix.size());
  }
  return known.count(path) == 1 ? path : "";
}

/// Walks down from one place after another; an arrow back to a place on the way closes a circle.
class CircleSearch {
 public:
  CircleSearch(const IncludeGraph& graph, const std::string& kind) : graph_(graph), kind_(kind) {}

  Findings find() {
    for (const auto& [place, targets] : graph_) walk(place);
    return findings_;
  }

 private:
  void walk(const std::string& place) {
    const auto targets = graph_.find(place);
    if (targets == graph_.end() || !seen_.insert(place).second) return;
    way_.push_back(place);
    for (const auto& [target, where] : targets->second) {
      const auto begin = std::find(way_.begin(), way_.end(), target);
      if (begin == way_.end()) {
        walk(target);
      } else {
        report(begin, target, where);
      }
    }
    way_.pop_back();
  }

  void report(std::vector<std::string>::const_iterator begin, const std::string& target,
              const std::string& where) {
    std::string circle;
    for (auto place = begin; place != way_.cend(); ++place) circle += *place + " → ";
    findings_.push_back(where + ": a circle of " + kind_ + ": " + circle + target);
  }

  const IncludeGraph& graph_;
  std::string kind_;
  std::set<std::string> seen_;
  std::vector<std::string> way_;
  Findings findings_;
};

/// Whether a way leads from `from` to `to`.
bool leads(const IncludeGraph& graph, const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto targets = graph.find(from);
  return targets != graph.end() &&
         std::any_of(targets->second.begin(), targets->second.end(),
                     [&](const auto& next) { return leads(graph, next.first, to); });
}

}  // namespace

IncludeGraph files_graph(const Tree& tree) {
  std::set<std::string> known;
  for (const auto& file : tree) known.insert(file.path);
  IncludeGraph graph;
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    for (const auto& include : includes_of(file)) {
      const auto target = resolved(file, include, known);
      if (!target.empty()) {
        graph[file.path].try_emplace(target, file.path + ":" + std::to_string(include.line));
      }
    }
  }
  return graph;
}

IncludeGraph rooms_graph(const Tree& tree) {
  IncludeGraph graph;
  for (const auto& [file, targets] : files_graph(tree)) {
    const auto room = room_of(file);
    for (const auto& [target, where] : targets) {
      const auto other = room_of(target);
      if (!room.empty() && !other.empty() && room != other) graph[room].try_emplace(other, where);
    }
  }
  return graph;
}

IncludeGraph without_implied(const IncludeGraph& graph) {
  IncludeGraph reduced = graph;
  for (const auto& [from, targets] : graph) {
    for (const auto& [to, where] : targets) {
      const bool implied = std::any_of(targets.begin(), targets.end(), [&, &last = to](const auto& next) {
        return next.first != last && leads(graph, next.first, last);
      });
      if (implied) reduced[from].erase(to);
    }
  }
  return reduced;
}

Findings check_circles(const Tree& tree) {
  Findings findings = CircleSearch(files_graph(tree), "files").find();
  for (auto& finding : CircleSearch(rooms_graph(tree), "rooms").find())
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace heed::lint
