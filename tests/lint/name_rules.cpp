// Which namespace a room has, and that a name in it is no other's.
#include <map>
#include <set>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/rules.h>

namespace heed::lint {
namespace {

std::string at(const SourceFile& file, int line, const std::string& reason) {
  return file.path + ":" + std::to_string(line) + ": " + reason;
}

bool is_private(std::string_view scope) {
  return scope.find("detail") != std::string_view::npos ||
         scope.find("(anonymous)") != std::string_view::npos;
}

/// "heed::train::report" for a file of train/report.
std::string namespace_of(std::string_view path) {
  if (in_kernels(path)) return "heed::kernels";
  const std::string room = room_of(path);
  const std::string outer = outer_room(room);
  if (outer == "core" || outer == "ops") return "heed";
  std::string name = "heed::" + room;
  const auto slash = name.find('/');
  if (slash != std::string::npos) name.replace(slash, 1, "::");
  return name;
}

bool belongs(const Declaration& one, std::string_view path) {
  if (one.is_member || one.scope == "std") return true;
  if (one.kind == Declaration::Kind::type && !one.is_defined && one.first_line == one.last_line &&
      one.scope.starts_with("heed")) {
    return true;
  }
  const std::string home = namespace_of(path);
  return one.scope == home || one.scope == home + "::detail" ||
         (in_kernels(path) && one.scope == home + "::HWY_NAMESPACE");
}

}  // namespace

Findings check_type_names(const Tree& tree) {
  struct Place {
    const SourceFile* file;
    int line;
    std::string scope;
  };
  std::map<std::string, std::vector<Place>> places;
  for (const auto& file : tree) {
    if (!is_public_header(file.path)) continue;
    for (const auto& one : declarations_of(file.text)) {
      if (one.kind != Declaration::Kind::type || one.is_member || is_private(one.scope)) continue;
      places[one.name].push_back({&file, one.line, one.scope});
    }
  }
  Findings findings;
  for (const auto& [name, found] : places) {
    std::set<std::string> scopes;
    for (const auto& place : found) scopes.insert(place.scope);
    if (scopes.size() < 2) continue;
    for (const auto& place : found) {
      std::string others;
      for (const auto& scope : scopes) {
        if (scope != place.scope) others += (others.empty() ? "" : ", ") + scope;
      }
      findings.push_back(
          at(*place.file, place.line, place.scope + " has " + name + ", and so has " + others));
    }
  }
  return findings;
}

Findings check_namespaces(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    if (!in_library(file.path) || !file.path.ends_with(".h")) continue;
    for (const auto& one : declarations_of(file.text)) {
      // A forward declaration names what another header declares.
      const bool forward = one.kind == Declaration::Kind::type && !one.is_defined;
      if (forward || belongs(one, file.path)) continue;
      findings.push_back(at(file, one.line,
                            one.name + " lies in " + (one.scope.empty() ? "no namespace" : one.scope) +
                                ", not in " + namespace_of(file.path)));
    }
  }
  return findings;
}

}  // namespace heed::lint
