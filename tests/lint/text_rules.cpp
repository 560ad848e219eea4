#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/rules.h>

namespace heed::lint {
namespace {

constexpr std::size_t most_lines = 500;

std::string header_path(const ExportedOp& op) { return "ops/" + op.header + ".h"; }

const SourceFile* find_file(const Tree& tree, const std::string& path) {
  const auto found =
      std::find_if(tree.begin(), tree.end(), [&](const auto& file) { return file.path == path; });
  return found == tree.end() ? nullptr : &*found;
}

std::map<std::string, std::set<std::string>> functions_by_header(const std::vector<ExportedOp>& exported) {
  std::map<std::string, std::set<std::string>> table;
  for (const auto& op : exported) table[header_path(op)].insert(op.function);
  return table;
}

bool gives_tensors(const Declaration& declaration) {
  return declaration.result.find("Tensor") != std::string::npos || declaration.result.ends_with("Result") ||
         declaration.result.ends_with("Output");
}

/// The `///` lines of the run of non-empty lines round `line` (counted from 1).
std::string doc_of_paragraph(const std::vector<std::string>& lines, int line) {
  const auto is_empty = [&](std::size_t i) { return lines[i].find_first_not_of(" \t") == std::string::npos; };
  auto begin = static_cast<std::size_t>(line - 1);
  while (begin > 0 && !is_empty(begin - 1)) --begin;
  std::string doc;
  for (std::size_t i = begin; i < lines.size() && !is_empty(i); ++i) {
    if (lines[i].starts_with("///")) doc += lines[i] + "\n";
  }
  return doc;
}

/// The parts of a contract that `doc` lacks, as one readable list.
std::string missing_parts(const std::string& doc) {
  constexpr std::array<std::string_view, 6> contract_parts = {"Shapes", "DTypes", "Gradient",
                                                              "Order",  "Saves",  "Throws"};
  std::string missing;
  for (const auto part : contract_parts) {
    if (doc.find(part) == std::string::npos) missing += (missing.empty() ? "" : ", ") + std::string(part);
  }
  return missing;
}

/// Empty if one of the declarations of `function` has a whole contract.
std::string contract_fault(const SourceFile& header, const std::string& function) {
  const auto lines = lines_of(header.text);
  std::string fault;
  for (const auto& declaration : declared_functions(header.text)) {
    if (declaration.name != function) continue;
    const auto missing = missing_parts(doc_of_paragraph(lines, declaration.line));
    if (missing.empty()) return "";
    if (fault.empty()) {
      fault = header.path + ":" + std::to_string(declaration.line) + ": the contract of " + function +
              " lacks " + missing;
    }
  }
  return fault;
}

}  // namespace

Findings check_sizes(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    const auto count = lines_of(file.text).size();
    if (count > most_lines) {
      findings.push_back(file.path + ":1: " + std::to_string(count) + " lines; split at " +
                         std::to_string(most_lines));
    }
  }
  return findings;
}

Findings check_leftovers(const Tree& tree) {
  // Put together from pieces, so that this file does not find itself.
  const std::array<std::string, 2> marks = {std::string("TO") + "DO", std::string("FIX") + "ME"};
  Findings findings;
  for (const auto& file : tree) {
    int number = 0;
    for (const auto& line : lines_of(file.text)) {
      ++number;
      for (const auto& mark : marks) {
        const auto found = line.find(mark);
        if (found == std::string::npos || line.compare(found + mark.size(), 2, "(#") == 0) continue;
        findings.push_back(file.path + ":" + std::to_string(number) + ": " + mark +
                           " without the number of an issue");
      }
    }
  }
  return findings;
}

Findings check_exports(const Tree& tree, const std::vector<ExportedOp>& exported) {
  Findings findings;
  for (const auto& [path, functions] : functions_by_header(exported)) {
    const auto* header = find_file(tree, path);
    if (header == nullptr) {
      findings.push_back(path + ":1: listed by add_op, but there is no such file");
      continue;
    }
    std::set<std::string> declared;
    for (const auto& declaration : declared_functions(header->text)) {
      declared.insert(declaration.name);
      if (gives_tensors(declaration) && functions.count(declaration.name) == 0) {
        findings.push_back(path + ":" + std::to_string(declaration.line) + ": " + declaration.name +
                           " is not among the FUNCTIONS of its add_op");
      }
    }
    for (const auto& function : functions) {
      if (declared.count(function) == 0)
        findings.push_back(path + ":1: add_op lists " + function + ", not declared here");
    }
  }
  return findings;
}

Findings check_contracts(const Tree& tree, const std::vector<ExportedOp>& exported) {
  Findings findings;
  for (const auto& [path, functions] : functions_by_header(exported)) {
    const auto* header = find_file(tree, path);
    if (header == nullptr) continue;
    for (const auto& function : functions) {
      auto fault = contract_fault(*header, function);
      if (!fault.empty()) findings.push_back(std::move(fault));
    }
  }
  return findings;
}

}  // namespace heed::lint
