#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::lint {

/// A function declared at namespace scope.
struct Declaration {
  std::string name;
  std::string result;
  /// The line, counted from 1, that holds the name.
  int line = 0;
};

/// `text` with comments, literals and preprocessor lines blanked; every line stays where it was.
std::string code_only(std::string_view text);

/// The functions that a header declares or defines at namespace scope. Operators, members and whatever lies
/// in a namespace `detail` are left out.
std::vector<Declaration> declared_functions(std::string_view header);

}  // namespace heed::lint
