#include "contracts.h"

#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/source_tree.h>

namespace heed::test {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(HEED_SOURCE_DIR "/" + path).rdbuf();
  return text.str();
}

// The `///` lines above `line` (counted from 1), joined; other declarations of the same group
// may lie between.
std::string doc_above(const std::vector<std::string>& lines, int line) {
  auto end = static_cast<std::size_t>(line - 1);
  const auto is_doc = [&](std::size_t i) { return lines[i].starts_with("///"); };
  while (end > 0 && !is_doc(end - 1) && lines[end - 1].find_first_not_of(' ') != std::string::npos) --end;
  auto begin = end;
  while (begin > 0 && is_doc(begin - 1)) --begin;
  std::string doc;
  for (std::size_t i = begin; i < end; ++i) doc += lines[i].substr(3);
  return doc;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return std::regex_replace(text.substr(begin, text.find_last_not_of(" .:") + 1 - begin), std::regex(" +"),
                            " ");
}

Contract parsed(const std::string& doc) {
  static const std::regex heading(
      "((?:Shapes|DTypes|Gradient|Order|Saves|Edge|Throws)(?:, "
      "(?:Shapes|DTypes|Gradient|Order|Saves|Edge|Throws))*)"
      "(?::|  )");
  static const std::regex name("\\w+");
  Contract contract;
  std::vector<std::string> current;
  auto from = doc.begin();
  const auto take = [&](auto to) {
    const std::string text = trimmed({from, to});
    if (current.empty()) contract.equation = text;
    for (const auto& part : current) contract.parts[part] = text;
  };
  for (std::sregex_iterator i(doc.begin(), doc.end(), heading), last; i != last; ++i) {
    take((*i)[0].first);
    const std::string list = (*i)[1];
    current.clear();
    for (std::sregex_iterator k(list.begin(), list.end(), name); k != last; ++k) current.push_back(k->str());
    from = (*i)[0].second;
  }
  take(doc.end());
  return contract;
}

// "as tril, but …" becomes tril's part and what follows the name.
void resolve(Contract& contract, const std::map<std::string, Contract>& all) {
  static const std::regex reference("^[Aa]s (\\w+)(.*)$");
  std::smatch match;
  if (std::regex_match(contract.equation, match, reference) && all.count(match[1]) == 1) {
    Contract other = all.at(match[1]);
    resolve(other, all);
    for (const auto& [part, text] : other.parts) contract.parts.try_emplace(part, text);
  }
  for (auto& [part, text] : contract.parts) {
    if (!std::regex_match(text, match, reference) || all.count(match[1]) == 0 || match[1] == contract.op)
      continue;
    Contract other = all.at(match[1]);
    resolve(other, all);
    const std::string rest = match[2];
    text = other.parts[part] + rest;
  }
}

}  // namespace

std::vector<Contract> contracts() {
  std::vector<std::pair<std::string, std::string>> exported;
#define HEED_EXPORTED_OP(header, function) exported.emplace_back("ops/" #header ".h", #function);
#include "exported_ops.inc"
#undef HEED_EXPORTED_OP
  std::map<std::string, Contract> all;
  for (const auto& [header, function] : exported) {
    const std::string text = text_of(header);
    const auto lines = lint::lines_of(text);
    Contract contract;
    for (const auto& declaration : lint::declared_functions(text)) {
      if (declaration.name != function) continue;
      Contract found = parsed(doc_above(lines, declaration.line));
      if (found.parts.size() >= contract.parts.size()) contract = std::move(found);
      if (!contract.parts.empty()) break;
    }
    contract.op = function;
    contract.header = header;
    all[function] = std::move(contract);
  }
  std::vector<Contract> result;
  for (const auto& [header, function] : exported) {
    Contract contract = all[function];
    resolve(contract, all);
    result.push_back(std::move(contract));
  }
  return result;
}

}  // namespace heed::test
