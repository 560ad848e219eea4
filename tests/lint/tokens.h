#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::lint {

/// A word, a number, or a mark of punctuation. `::`, `->`, `...` and the name of an operator
/// (`operator==`) are one token; a literal is its two quotes.
struct Token {
  std::string text;
  /// The line, counted from 1.
  int line = 0;
};

/// `text` with comments, literals and preprocessor lines blanked; every line stays where it was.
std::string code_only(std::string_view text);

/// The tokens of a source without comments and preprocessor lines.
std::vector<Token> tokens_of(std::string_view source);

/// The position just after the bracket that closes the one at `open`, which may be any of `(`, `[`, `{`.
std::size_t after_bracket(const std::vector<Token>& tokens, std::size_t open);

/// The same for template arguments: `open` is a `<`.
std::size_t after_angle(const std::vector<Token>& tokens, std::size_t open);

/// Whether a word begins with this character or goes on with it.
bool is_word(char c);

}  // namespace heed::lint
