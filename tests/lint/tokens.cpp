#include <algorithm>
#include <array>
#include <cctype>

#include <heed/tests/lint/tokens.h>

namespace heed::lint {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Blanks text[from, to) except for its line breaks.
void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

std::size_t end_of_literal(const std::string& text, std::size_t open) {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

/// Of R"mark(…)mark", whose first quote is at `quote`.
std::size_t end_of_raw_literal(const std::string& text, std::size_t quote) {
  const auto open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string closing = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  return std::min(text.find(closing, open), text.size() - closing.size()) + closing.size();
}

std::size_t end_of_directive(const std::string& text, std::size_t hash) {
  auto end = text.find('\n', hash);
  while (end != std::string::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size());
}

bool opens_literal(const std::string& text, std::size_t i) {
  return text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])));
}

bool opens_raw_literal(const std::string& text, std::size_t i) {
  return text[i] == '"' && i > 0 && text[i - 1] == 'R' && (i == 1 || !is_word(text[i - 2]));
}

/// The end of the token that begins at `begin`.
std::size_t end_of_token(std::string_view code, std::size_t begin) {
  constexpr std::array<std::string_view, 3> long_marks = {"::", "->", "..."};
  const char first = code[begin];
  if (is_word(first)) {
    const bool number = first >= '0' && first <= '9';
    auto end = begin + 1;
    while (end < code.size() && (is_word(code[end]) || (number && code[end] == '\''))) ++end;
    return end;
  }
  if (first == '"' || first == '\'') return std::min(code.find(first, begin + 1), code.size() - 1) + 1;
  for (const auto mark : long_marks) {
    if (code.substr(begin).starts_with(mark)) return begin + mark.size();
  }
  return begin + 1;
}

/// The end of the name of an operator, of which `end` is the end of the word `operator`; `end`
/// for a conversion.
std::size_t end_of_operator(std::string_view code, std::size_t end) {
  auto at = end;
  while (at < code.size() && is_space(code[at])) ++at;
  if (code.substr(at).starts_with("()") || code.substr(at).starts_with("[]")) return at + 2;
  const auto begin = at;
  while (at < code.size() && code[at] != '(' && !is_word(code[at]) && !is_space(code[at])) ++at;
  return at == begin ? end : at;
}

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string code_only(std::string_view source) {
  std::string text(source);
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(text, i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      blank(text, i, end);
    } else if (opens_literal(text, i)) {
      end = opens_raw_literal(text, i) ? end_of_raw_literal(text, i) : end_of_literal(text, i);
      blank(text, i + 1, end - 1);
    } else if (text[i] == '#' && line_start) {
      end = end_of_directive(text, i);
      blank(text, i, end);
    }
    if (text[i] == '\n') {
      line_start = true;
    } else if (text[i] != ' ' && text[i] != '\t') {
      line_start = false;
    }
    i = end;
  }
  return text;
}

std::vector<Token> tokens_of(std::string_view source) {
  const std::string code = code_only(source);
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t begin = 0; begin < code.size();) {
    auto end = end_of_token(code, begin);
    Token token{code.substr(begin, end - begin), line};
    if (token.text == "operator") {
      end = end_of_operator(code, end);
      token.text = code.substr(begin, end - begin);
    } else if (token.text.front() == '"' || token.text.front() == '\'') {
      token.text = {token.text.front(), token.text.front()};
    }
    line += static_cast<int>(std::count(code.begin() + static_cast<std::ptrdiff_t>(begin),
                                        code.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    if (!is_space(token.text.front())) tokens.push_back(std::move(token));
    begin = end;
  }
  return tokens;
}

std::size_t after_bracket(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth == 0) return i + 1;
  }
  return tokens.size();
}

std::size_t after_angle(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{") i = after_bracket(tokens, i) - 1;
    if (text == "<") ++depth;
    if (text == ">" && --depth == 0) return i + 1;
  }
  return tokens.size();
}

}  // namespace heed::lint
