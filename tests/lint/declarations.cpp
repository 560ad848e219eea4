#include <algorithm>
#include <array>
#include <cctype>

#include <heed/tests/lint/declarations.h>

namespace heed::lint {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

bool first_word_is(std::string_view statement, std::string_view word) {
  return statement.starts_with(word) && (statement.size() == word.size() || !is_name(statement[word.size()]));
}

/// The position just after the bracket that closes the one at `open`.
std::size_t after_bracket(std::string_view text, std::size_t open, char opening, char closing) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    if (text[i] == closing && --depth == 0) return i + 1;
  }
  return text.size();
}

/// The first '(' outside of template arguments.
std::size_t parameter_list(std::string_view text) {
  int angle = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++angle;
    if (text[i] == '>') --angle;
    if (text[i] == '(' && angle == 0) return i;
  }
  return std::string_view::npos;
}

/// Reads one namespace-scope statement; a Declaration without a name if it declares no plain function.
Declaration parse_statement(std::string_view statement, int first_line) {
  std::size_t start = 0;
  const auto skip_space = [&] {
    while (start < statement.size() && std::isspace(static_cast<unsigned char>(statement[start])) != 0)
      ++start;
  };
  for (skip_space();; skip_space()) {
    if (first_word_is(statement.substr(start), "template")) {
      start = after_bracket(statement, statement.find('<', start), '<', '>');
    } else if (statement.substr(start).starts_with("[[")) {
      start = after_bracket(statement, start, '[', ']');
    } else {
      break;
    }
  }
  const std::string_view body = statement.substr(start);
  constexpr std::array<std::string_view, 10> kOther = {
      "struct", "class", "enum", "union", "using", "typedef", "static_assert", "extern", "friend", "concept"};
  if (std::any_of(kOther.begin(), kOther.end(), [&](auto word) { return first_word_is(body, word); }))
    return {};
  const auto open = parameter_list(body);
  if (open == std::string_view::npos || body.substr(0, open).find('=') != std::string_view::npos) return {};

  auto end = open;
  while (end > 0 && std::isspace(static_cast<unsigned char>(body[end - 1])) != 0) --end;
  auto begin = end;
  while (begin > 0 && is_name(body[begin - 1])) --begin;
  Declaration found{std::string(body.substr(begin, end - begin)), trimmed(body.substr(0, begin)), first_line};
  if (found.result.empty() || found.result.find("operator") != std::string::npos || found.name == "operator")
    return {};
  const auto before = statement.substr(0, start + begin);
  found.line += static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  return found;
}

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

std::size_t end_of_directive(const std::string& text, std::size_t hash) {
  auto end = text.find('\n', hash);
  while (end != std::string::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size());
}

}  // namespace

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
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_name(text[i - 1])))) {
      end = end_of_literal(text, i);
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

std::vector<Declaration> declared_functions(std::string_view header) {
  const std::string code = code_only(header);
  std::vector<Declaration> found;
  std::size_t begin = 0;
  int line = 1;
  int parentheses = 0;
  const auto take_statement = [&](std::size_t end) {
    auto declaration = parse_statement(std::string_view(code).substr(begin, end - begin), line);
    const bool is_function = !declaration.name.empty();
    if (is_function) found.push_back(std::move(declaration));
    return is_function;
  };
  const auto restart = [&](std::size_t next) {
    line += static_cast<int>(std::count(code.begin() + static_cast<std::ptrdiff_t>(begin),
                                        code.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    begin = next;
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '(') ++parentheses;
    if (c == ')') --parentheses;
    if (parentheses > 0) continue;
    if (c == ';') {
      take_statement(i);
      restart(i + 1);
    } else if (c == '}') {
      restart(i + 1);
    } else if (c == '{') {
      const std::string head = trimmed(std::string_view(code).substr(begin, i - begin));
      if (first_word_is(head, "namespace") && !head.ends_with("detail")) {
        restart(i + 1);
        continue;
      }
      const bool is_function = take_statement(i);
      i = after_bracket(code, i, '{', '}') - 1;
      // A class goes on to its semicolon; a function or a detail namespace ends here.
      if (is_function || first_word_is(head, "namespace")) restart(i + 1);
    }
  }
  return found;
}

}  // namespace heed::lint
