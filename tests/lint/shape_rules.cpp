// How long functions and comments may be.
#include <algorithm>
#include <array>
#include <optional>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/rules.h>
#include <heed/tests/lint/tokens.h>

namespace heed::lint {
namespace {

constexpr int most_lines = 40;
constexpr int most_kernel_lines = 60;
constexpr std::size_t most_columns = 110;
/// A sentence breaks because its line is full, which no shorter line is.
constexpr std::size_t full_line = 80;

std::string at(const SourceFile& file, int line, const std::string& reason) {
  return file.path + ":" + std::to_string(line) + ": " + reason;
}

/// Letters, not bytes: those of UTF-8 that go on with a letter are left out.
std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Where the comment of a line begins; `code` is the line with comments and literals blanked.
std::optional<std::size_t> comment_of(std::string_view line, std::string_view code) {
  for (auto slashes = line.find("//"); slashes != std::string_view::npos;
       slashes = line.find("//", slashes + 1)) {
    if (code.find_first_not_of(" \t\r", slashes) == std::string_view::npos) return slashes;
  }
  return std::nullopt;
}

/// What a line that is all comment says; nothing for other lines and for empty comments.
std::string_view words_of_comment(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line.compare(begin, 2, "//") != 0) return {};
  const auto words = line.find_first_not_of("/ \t", begin);
  return words == std::string_view::npos ? std::string_view() : line.substr(words);
}

std::size_t count_words(std::string_view text) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : text) {
    if (c != ' ' && !inside) ++count;
    inside = c != ' ';
  }
  return count;
}

bool ends_sentence(std::string_view words) {
  constexpr std::string_view end_marks = ".:;!?";
  return !words.empty() && end_marks.find(words.back()) != std::string_view::npos;
}

/// The last word or two of a sentence that began on the full line above.
bool is_orphan(const std::vector<std::string>& lines, std::size_t i) {
  if (i == 0 || columns_of(lines[i - 1]) < full_line) return false;
  const auto words = words_of_comment(lines[i]);
  const auto above = words_of_comment(lines[i - 1]);
  if (words.empty() || above.empty() || ends_sentence(above) || count_words(words) > 2) return false;
  return ends_sentence(words) || i + 1 == lines.size() || words_of_comment(lines[i + 1]).empty();
}

bool braces_match(const std::vector<Token>& tokens) {
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.text == "{") ++depth;
    if (token.text == "}" && --depth < 0) return false;
  }
  return depth == 0;
}

}  // namespace

Findings check_function_lengths(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    const std::string room = room_of(file.path);
    if (!is_cpp(file) || room == "tests" || room == "bench") continue;
    if (!braces_match(tokens_of(file.text))) {
      findings.push_back(at(file, 1, "braces do not match, so where functions end cannot be told"));
      continue;
    }
    const int most = in_kernels(file.path) ? most_kernel_lines : most_lines;
    for (const auto& one : declarations_of(file.text)) {
      const int lines = one.last_line - one.first_line + 1;
      if (one.kind != Declaration::Kind::function || lines <= most) continue;
      findings.push_back(
          at(file, one.first_line,
             one.name + " has " + std::to_string(lines) + " lines; split at " + std::to_string(most)));
    }
  }
  return findings;
}

Findings check_line_lengths(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    const auto lines = lines_of(file.text);
    const auto code = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int number = static_cast<int>(i) + 1;
      const auto columns = columns_of(lines[i]);
      if (columns > most_columns && comment_of(lines[i], code[i])) {
        findings.push_back(at(file, number,
                              "a comment of " + std::to_string(columns) + " columns; break at " +
                                  std::to_string(most_columns)));
      }
      if (is_orphan(lines, i)) {
        findings.push_back(at(file, number,
                              "\"" + std::string(words_of_comment(lines[i])) +
                                  "\" stands alone; break the lines above"
                                  " elsewhere"));
      }
    }
  }
  return findings;
}

}  // namespace heed::lint
