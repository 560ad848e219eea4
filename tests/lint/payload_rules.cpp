// What the tape keeps for backward is saved with its version.
#include <algorithm>
#include <map>
#include <set>

#include <heed/tests/lint/rules.h>
#include <heed/tests/lint/tokens.h>

namespace heed::lint {
namespace {

/// A class or struct with its members of data.
struct Type {
  struct Member {
    std::vector<std::string> type;
    std::string name;
    int line = 0;
  };
  std::string name;
  std::vector<Member> members;
  bool is_payload = false;
};

/// Where the parameter list, initialiser or body that begins at `i` ends.
std::size_t skip_brackets(const std::vector<Token>& tokens, std::size_t i) {
  const std::string& text = tokens[i].text;
  return text == "(" || text == "{" || text == "[" ? after_bracket(tokens, i) : i + 1;
}

/// The members that a statement of a class declares: the words before the first name that ends with `,`, `;`,
/// `=` or `{` are their type. None for functions, aliases and friends.
void add_members(const std::vector<Token>& statement, Type& type) {
  static const std::set<std::string> others = {"static", "using", "friend", "typedef", "enum", "template"};
  if (statement.empty() || others.count(statement[0].text) == 1) return;
  std::vector<std::string> words;
  std::size_t i = 0;
  for (; i < statement.size(); ++i) {
    const std::string& text = statement[i].text;
    if (text == "(" || text.starts_with("operator")) return;
    if (text == "=" || text == "," || text == "{") break;
    if (text == "<") {
      const std::size_t end = after_angle(statement, i);
      for (; i + 1 < end; ++i) words.push_back(statement[i].text);
    }
    words.push_back(statement[i].text);
  }
  if (words.size() < 2) return;
  const std::vector<std::string> of_all(words.begin(), words.end() - 1);
  type.members.push_back({of_all, words.back(), statement[0].line});
  while (i < statement.size()) {  // x = 1, y
    while (i < statement.size() && statement[i].text != ",") i = skip_brackets(statement, i);
    if (i + 1 < statement.size()) type.members.push_back({of_all, statement[i + 1].text, statement[i].line});
    ++i;
  }
}

/// Reads the class whose body opens at `open` into `types`, the classes in it too.
void read_type(const std::vector<Token>& tokens, std::size_t open, Type type, std::vector<Type>& types);

/// Reads the class or struct that may begin at `i`; where it ends, or `i` if there is none.
std::size_t read_if_type(const std::vector<Token>& tokens, std::size_t i, std::vector<Type>& types) {
  if (tokens[i].text != "struct" && tokens[i].text != "class") return i;
  if (i > 0 && (tokens[i - 1].text == "enum" || tokens[i - 1].text == "<" || tokens[i - 1].text == ","))
    return i;
  if (i + 1 >= tokens.size()) return i;
  std::size_t open = i + 1;
  while (open < tokens.size() && tokens[open].text != "{" && tokens[open].text != ";" &&
         tokens[open].text != "(" && tokens[open].text != ")") {
    ++open;
  }
  if (open >= tokens.size() || tokens[open].text != "{") return i;
  Type type;
  type.name = tokens[i + 1].text;
  read_type(tokens, open, type, types);
  return after_bracket(tokens, open);
}

void read_type(const std::vector<Token>& tokens, std::size_t open, Type type, std::vector<Type>& types) {
  const std::size_t end = after_bracket(tokens, open) - 1;
  std::vector<Token> statement;
  for (std::size_t i = open + 1; i < end;) {
    const std::size_t behind = read_if_type(tokens, i, types);
    const std::string& text = tokens[i].text;
    if (behind != i || (text == "{" && statement.empty())) {  // a class, or a body behind initialisers
      i = std::max(behind, skip_brackets(tokens, i));
      statement.clear();
      continue;
    }
    if (text == ":" && statement.size() == 1) {  // public:
      statement.clear();
    } else if (text == ";") {
      add_members(statement, type);
      statement.clear();
    } else {
      const std::size_t next = skip_brackets(tokens, i);
      statement.insert(statement.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                       tokens.begin() + static_cast<std::ptrdiff_t>(next));
      const auto calls_vjp = [](const Token& token) { return token.text == "vjp"; };
      const auto takes_context = [](const Token& token) { return token.text == "VjpContext"; };
      if (text == "{" && std::any_of(statement.begin(), statement.end(), [](const Token& token) {
            return token.text == "(";
          })) {  // the body of a function
        const auto body = statement.end() - static_cast<std::ptrdiff_t>(next - i);
        type.is_payload |= std::any_of(statement.begin(), body, calls_vjp) &&
                           std::any_of(statement.begin(), body, takes_context);
        statement.clear();
      }
      i = next;
      continue;
    }
    ++i;
  }
  types.push_back(std::move(type));
}

std::vector<Type> types_of(const SourceFile& file) {
  const auto tokens = tokens_of(file.text);
  std::vector<Type> types;
  for (std::size_t i = 0; i < tokens.size();) {
    const std::size_t behind = read_if_type(tokens, i, types);
    i = behind == i ? i + 1 : behind;
  }
  return types;
}

/// Names of types that hold a tensor themselves or in a member, in one file or in all headers.
using Names = std::set<std::string>;

/// The word of a member's type by which it holds a bare tensor; empty for one that does not. What is wrapped
/// in SavedStruct is saved.
std::string bare_tensor_in(const Type::Member& member, const Names& holding) {
  for (std::size_t i = 0; i < member.type.size(); ++i) {
    const std::string& word = member.type[i];
    if (word == "SavedStruct" || word == "function") return {};
    if (i + 1 < member.type.size() && member.type[i + 1] == "::") continue;  // of A::B the type is B
    if (word == "Tensor" || holding.count(word) == 1) return word;
  }
  return {};
}

bool holds_tensor(const Type& type, const Names& holding) {
  static const Names guarded = {"SavedTensor", "SavedStruct"};
  if (guarded.count(type.name) == 1) return false;
  return std::any_of(type.members.begin(), type.members.end(),
                     [&](const Type::Member& m) { return !bare_tensor_in(m, holding).empty(); });
}

/// Adds the types that hold one of `holding`, over and over.
void close_over(const std::vector<Type>& types, Names& holding) {
  for (bool grown = true; grown;) {
    grown = false;
    for (const Type& type : types) {
      if (holds_tensor(type, holding)) grown |= holding.insert(type.name).second;
    }
  }
}

/// Words in the body of `visit_tensors(name&, …)`; none where the file has no such function.
Names words_visited(const std::vector<Token>& tokens, const std::string& name) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].text != "visit_tensors" || tokens[i + 1].text != "(" || tokens[i + 2].text != name)
      continue;
    const std::size_t open = after_bracket(tokens, i + 1);
    if (open >= tokens.size() || tokens[open].text != "{") continue;
    Names words;
    for (std::size_t k = open; k < after_bracket(tokens, open); ++k) words.insert(tokens[k].text);
    return words;
  }
  return {};
}

std::string at(const SourceFile& file, int line, const std::string& reason) {
  return file.path + ":" + std::to_string(line) + ": " + reason;
}

void check_file(const SourceFile& file, Names holding, Findings& findings) {
  const std::vector<Type> types = types_of(file);
  for (const Type& type : types) holding.erase(type.name);  // its own of that name counts
  close_over(types, holding);
  const auto tokens = tokens_of(file.text);
  for (const Type& type : types) {
    const Names visited = words_visited(tokens, type.name);
    for (const Type::Member& member : type.members) {
      const std::string word = bare_tensor_in(member, holding);
      if (word.empty()) continue;
      if (type.is_payload) {
        findings.push_back(at(file, member.line,
                              type.name + " keeps " + member.name + " (" + word +
                                  ") for backward without its version; use SavedTensor or SavedStruct"));
      }
      if (!visited.empty() && visited.count(member.name) == 0) {
        findings.push_back(
            at(file, member.line, "visit_tensors leaves out " + type.name + "::" + member.name));
      }
    }
  }
}

}  // namespace

Findings check_payloads(const Tree& tree) {
  std::vector<Type> in_headers;
  for (const auto& file : tree) {
    if (!is_public_header(file.path)) continue;
    const auto types = types_of(file);
    in_headers.insert(in_headers.end(), types.begin(), types.end());
  }
  Names holding;
  close_over(in_headers, holding);
  Findings findings;
  for (const auto& file : tree) {
    if (is_cpp(file) && in_library(file.path)) check_file(file, holding, findings);
  }
  return findings;
}

}  // namespace heed::lint
