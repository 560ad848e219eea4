// The rules, applied to this repository.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/tests/lint/rules.h>

namespace {

using namespace heed::lint;

const Tree& repository() {
  static const Tree tree = read_tree(HEED_SOURCE_DIR);
  return tree;
}

const std::vector<ExportedOp>& exported_ops() {
#define HEED_EXPORTED_OP(header, function) {#header, #function},
  static const std::vector<ExportedOp> ops = {
#include "exported_ops.inc"
  };
#undef HEED_EXPORTED_OP
  return ops;
}

void require_clean(const Findings& findings) {
  for (const auto& finding : findings) UNSCOPED_INFO(finding);
  CHECK(findings.empty());
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(HEED_SOURCE_DIR "/" + path).rdbuf();
  return text.str();
}

// Of the library and its programs; `getenv(name)` is a helper's.
TEST_CASE("every environment variable stands in the design page", "[lint]") {
  const auto page = text_of("docs/design.md");
  int found = 0;
  for (const auto& file : repository()) {
    const std::string call = "getenv(\"";
    for (std::size_t at = file.text.find(call); at != std::string::npos; at = file.text.find(call, at + 1)) {
      const auto begin = at + call.size();
      const auto name = file.text.substr(begin, file.text.find('"', begin) - begin);
      if (name.empty() || !name.starts_with("HEED_")) continue;
      ++found;
      INFO(file.path << ": " << name);
      CHECK(page.find("`" + name) != std::string::npos);
    }
  }
  CHECK(found >= 10);
}

TEST_CASE("the tree is read whole", "[lint]") {
  REQUIRE(repository().size() > 20);
  const auto has = [](const std::string& path) {
    for (const auto& file : repository()) {
      if (file.path == path) return !file.text.empty();
    }
    return false;
  };
  CHECK(has("core/tensor.h"));
  CHECK(has("tests/lint/tree_test.cpp"));
  CHECK(has("dev"));
}

TEST_CASE("rooms include only what lies below them", "[lint]") { require_clean(check_layers(repository())); }

TEST_CASE("third parties stay in their places", "[lint]") {
  require_clean(check_third_parties(repository()));
}

TEST_CASE("public headers are clean", "[lint]") { require_clean(check_public_headers(repository())); }

TEST_CASE("no file is over 500 lines", "[lint]") { require_clean(check_sizes(repository())); }

TEST_CASE("functions fit a screen", "[lint]") { require_clean(check_function_lengths(repository())); }

TEST_CASE("comments are as wide as code, and end where a sentence does", "[lint]") {
  require_clean(check_line_lengths(repository()));
}

TEST_CASE("a type's name belongs to one namespace", "[lint]") {
  require_clean(check_type_names(repository()));
}

TEST_CASE("headers declare into the namespace of their room", "[lint]") {
  require_clean(check_namespaces(repository()));
}

TEST_CASE("includes go in no circle", "[lint]") { require_clean(check_circles(repository())); }

TEST_CASE("what the tape keeps is saved with its version", "[lint]") {
  require_clean(check_payloads(repository()));
}

TEST_CASE("no work is left for later", "[lint]") { require_clean(check_leftovers(repository())); }

TEST_CASE("op headers and add_op agree", "[lint]") {
  require_clean(check_exports(repository(), exported_ops()));
}

TEST_CASE("every exported op has its contract", "[lint]") {
  require_clean(check_contracts(repository(), exported_ops()));
}

// tests/consumer compiles and runs that program, so the README's is right as long as they are one.
TEST_CASE("the program in the README is examples/consumer", "[lint]") {
  const auto program = text_of("examples/consumer/main.cpp");
  REQUIRE(program.size() > 100);
  CHECK(text_of("README.md").find("```cpp\n" + program + "```\n") != std::string::npos);
}

TEST_CASE("what the contributing page points to exists", "[lint]") {
  const auto page = text_of("CONTRIBUTING.md");
  int found = 0;
  for (std::size_t at = page.find('`'); at != std::string::npos;) {
    const auto end = page.find('`', at + 1);
    const auto word = page.substr(at + 1, end - at - 1);
    if (word.ends_with(".h") && word.find("foo") == std::string::npos) {
      ++found;
      INFO(word);
      CHECK_FALSE(text_of(word).empty());
    }
    at = page.find('`', end + 1);
  }
  CHECK(found >= 10);
}

// Calls `on_word` with each word of `text`: letters, digits and _.
template <class OnWord>
void each_word(const std::string& text, OnWord&& on_word) {
  const auto belongs = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), belongs);
    at = std::find_if_not(begin, text.end(), belongs);
    if (begin != at) on_word(std::string(begin, at));
  }
}

TEST_CASE("what the page of idioms names is in a public header", "[lint]") {
  std::set<std::string> known;
  for (const auto& file : repository()) {
    if (file.path.ends_with(".h") && !room_of(file.path).empty()) {
      each_word(file.text, [&](const std::string& word) { known.insert(word); });
    }
  }
  const auto page = text_of("docs/idioms.md");
  int named = 0;
  for (std::size_t at = page.find('`'); at != std::string::npos;) {
    const auto end = page.find('`', at + 1);
    each_word(page.substr(at + 1, end - at - 1), [&](const std::string& word) {
      ++named;
      INFO(word);
      CHECK((std::isdigit(static_cast<unsigned char>(word[0])) != 0 || known.count(word) == 1));
    });
    at = page.find('`', end + 1);
  }
  CHECK(named > 100);
}

}  // namespace
