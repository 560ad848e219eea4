#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <heed/tests/lint/rules.h>

namespace heed::lint {
namespace {

constexpr std::string_view heed_prefix = "heed/";
constexpr std::string_view kernel_folder = "ops/kernels/";
constexpr std::string_view attention_kernel_folder = "ops/attention/kernels/";

std::string at(const SourceFile& file, int line, const std::string& reason) {
  return file.path + ":" + std::to_string(line) + ": " + reason;
}

/// Which rooms a room of the library may include. Who may include a room may include those inside it. An
/// inner room without a line here has that of the room it lies in.
const std::map<std::string, std::set<std::string>>& allowed_rooms() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"numeric", {"numeric"}},
      {"core", {"core"}},
      {"ops", {"core", "ops"}},
      {"nn", {"core", "ops", "nn"}},
      {"optim", {"core", "ops", "nn", "optim"}},
      {"io", {"core", "io"}},
      {"text", {"core", "io", "text"}},
      {"lm", {"core", "ops", "nn", "io", "text", "lm"}},
      {"check", {"numeric", "core", "ops", "nn", "check"}},
      {"train/distributed", {"core", "ops", "nn", "io", "train/distributed"}},
      {"train/report", {"core", "ops", "nn", "optim", "io", "text", "lm", "train/report"}},
      {"train", {"core", "ops", "nn", "optim", "io", "text", "lm", "check", "train"}},
  };
  return table;
}

bool may_include(const std::string& room, const std::string& other) {
  const auto own = allowed_rooms().find(room);
  const auto& allowed = own != allowed_rooms().end() ? own->second : allowed_rooms().at(outer_room(room));
  return allowed.count(other) == 1 || allowed.count(outer_room(other)) == 1;
}

/// Standard headers that every program which includes heed would pay for, each with a tenth of a second.
bool slow_to_compile(std::string_view target) {
  constexpr std::array<std::string_view, 11> slow_names = {"chrono",  "filesystem", "fstream", "future",
                                                           "iomanip", "iostream",   "random",  "ranges",
                                                           "regex",   "sstream",    "thread"};
  return std::find(slow_names.begin(), slow_names.end(), target) != slow_names.end();
}

/// The headers of core that know neither tensors nor the tape; open to kernels.
bool open_to_kernels(std::string_view path) {
  constexpr std::array<std::string_view, 2> slow_names = {"core/error.h", "core/parallel.h"};
  return std::find(slow_names.begin(), slow_names.end(), path) != slow_names.end();
}

std::string layer_fault(const SourceFile& file, std::string_view target) {
  const std::string room = room_of(file.path);
  const std::string other = room_of(target);
  if (other.empty()) return room + " includes an umbrella header; include what is used";
  if (!may_include(room, other)) return room + " may not include " + other;
  const bool is_kernel = in_kernels(file.path);
  const bool to_kernel = in_kernels(target);
  if (to_kernel && !is_kernel && !file.path.ends_with(".cpp"))
    return "a header includes a kernel; kernels are private";
  if (is_kernel && !to_kernel && !open_to_kernels(target)) return "kernels know no tensor and no op";
  return "";
}

struct Place {
  std::string_view party;
  std::vector<std::string_view> folders;
  std::size_t most_files;
};

const std::vector<Place>& places() {
  constexpr std::size_t any_number = 1000000;
  static const std::vector<Place> table = {
      {"cblas", {kernel_folder}, 1},
      {"mpi.h", {"train/distributed/"}, 1},
      {"pcre2.h", {"text/"}, 1},
      {"hwy/", {kernel_folder, attention_kernel_folder}, any_number},
      {"omp.h", {"tests/", "bench/"}, any_number},
      {"nlohmann/", {"io/", "text/", "lm/", "check/", "train/", "app/", "tests/", "bench/"}, any_number},
      {"CLI/", {"app/"}, any_number},
      {"catch2/", {"tests/"}, any_number},
      {"benchmark/", {"bench/"}, any_number},
  };
  return table;
}

bool lies_in(std::string_view path, const std::vector<std::string_view>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](auto folder) { return path.starts_with(folder); });
}

bool is_standard(std::string_view header) {
  return !header.empty() && std::all_of(header.begin(), header.end(), [](char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0 ||
           std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

/// The words of a line, blanks between them reduced to one.
std::string squeezed(const std::string& line) {
  std::string text;
  for (const char c : line) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ' && text.back() != '#') text += ' ';
  }
  return text;
}

void check_directives(const SourceFile& file, Findings& findings) {
  bool first = true;
  int number = 0;
  for (const auto& raw : lines_of(file.text)) {
    ++number;
    const std::string line = squeezed(raw);
    if (line.starts_with("using namespace"))
      findings.push_back(at(file, number, "using-directive in a public header"));
    if (!line.starts_with('#')) continue;
    if (first && line != "#pragma once") findings.push_back(at(file, number, "#pragma once must come first"));
    first = false;
    if (line.starts_with("#define") && !line.starts_with("#define HEED_")) {
      findings.push_back(at(file, number, "a macro of a public header must begin with HEED_"));
    }
  }
  if (first) findings.push_back(at(file, 1, "no #pragma once"));
}

}  // namespace

Findings check_layers(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    if (!in_library(file.path) || !is_cpp(file)) continue;
    for (const auto& include : includes_of(file)) {
      if (include.quoted)
        findings.push_back(at(file, include.line, "write <heed/...> instead of \"" + include.target + "\""));
      if (!include.target.starts_with(heed_prefix)) continue;
      const auto fault = layer_fault(file, std::string_view(include.target).substr(heed_prefix.size()));
      if (!fault.empty()) findings.push_back(at(file, include.line, fault + " (<" + include.target + ">)"));
    }
  }
  return findings;
}

Findings check_third_parties(const Tree& tree) {
  Findings findings;
  std::map<std::string_view, std::set<std::string>> users;
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    for (const auto& include : includes_of(file)) {
      for (const auto& place : places()) {
        if (!include.target.starts_with(place.party)) continue;
        users[place.party].insert(file.path);
        if (!lies_in(file.path, place.folders)) {
          findings.push_back(at(file, include.line, "<" + include.target + "> has no place here"));
        }
      }
    }
    int number = 0;
    for (const auto& line : lines_of(file.text)) {
      ++number;
      if (squeezed(line).starts_with("#pragma omp") && !lies_in(file.path, {"tests/"})) {
        findings.push_back(at(file, number, "OpenMP: threads are those of core/parallel"));
      }
    }
  }
  for (const auto& place : places()) {
    if (users[place.party].size() <= place.most_files) continue;
    for (const auto& path : users[place.party]) {
      findings.push_back(path + ":1: " + std::string(place.party) + " belongs in one file alone");
    }
  }
  return findings;
}

Findings check_public_headers(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    if (!is_public_header(file.path)) continue;
    for (const auto& include : includes_of(file)) {
      if (!include.target.starts_with(heed_prefix) && !is_standard(include.target)) {
        findings.push_back(at(file, include.line, "a public header includes <" + include.target + ">"));
      }
      if (slow_to_compile(include.target)) {
        findings.push_back(at(file, include.line,
                              "a public header includes <" + include.target + ">, which is slow to compile"));
      }
    }
    check_directives(file, findings);
  }
  return findings;
}

}  // namespace heed::lint
