#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::lint {

/// Something that a source declares at namespace scope or in a class.
struct Declaration {
  enum class Kind { function, type, variable };
  Kind kind = Kind::function;
  std::string name;
  /// A function's return type, with what stands before it; empty for constructors and destructors.
  std::string result;
  /// The namespaces it lies in: "heed::nn"; one without a name is "(anonymous)".
  std::string scope;
  /// Whether a class holds it.
  bool is_member = false;
  /// Whether its body stands here.
  bool is_defined = false;
  /// The line, counted from 1, that holds the name.
  int line = 0;
  /// From the first word of the declaration to its closing brace or semicolon.
  int first_line = 0, last_line = 0;
};

/// All that a source declares, in its order. What lies in the body of a function is the function's own.
std::vector<Declaration> declarations_of(std::string_view source);

/// The functions that a header declares or defines at namespace scope. Operators, members and whatever lies
/// in a namespace `detail` are left out.
std::vector<Declaration> declared_functions(std::string_view header);

}  // namespace heed::lint
