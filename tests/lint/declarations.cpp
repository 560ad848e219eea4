#include <algorithm>
#include <array>
#include <utility>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/tokens.h>

namespace heed::lint {
namespace {

constexpr std::size_t no_token = static_cast<std::size_t>(-1);

/// The tokens of one declaration up to its body or end. Brackets are kept without contents: "()", "[]", "{}".
using Head = std::vector<Token>;

template <std::size_t N>
bool is_one_of(const Token& token, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), token.text) != words.end();
}

bool is_class_key(const Token& token) {
  constexpr std::array<std::string_view, 4> class_words = {"class", "struct", "union", "enum"};
  return is_one_of(token, class_words);
}

bool is_name(const Token& token) { return is_word(token.text.front()); }

std::size_t find(const Head& head, std::string_view text, std::size_t from = 0) {
  for (std::size_t i = from; i < head.size(); ++i) {
    if (head[i].text == text) return i;
  }
  return no_token;
}

std::string joined(const Head& head, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    if (!text.empty() && is_word(text.back()) && is_name(head[i])) text += ' ';
    text += head[i].text;
  }
  return text;
}

/// The first parameter list: a "()" after a name, outside of template arguments and of no specifier.
std::size_t parameter_list(const Head& head) {
  constexpr std::array<std::string_view, 6> other_words = {"alignas",  "decltype", "__attribute__",
                                                           "explicit", "requires", "noexcept"};
  for (std::size_t i = 0; i + 1 < head.size(); ++i) {
    if (head[i].text == "<") i = after_angle(head, i) - 1;
    if (i + 1 >= head.size() || head[i + 1].text != "()") continue;
    if ((is_name(head[i]) || head[i].text == ">") && !is_one_of(head[i], other_words)) return i + 1;
  }
  return no_token;
}

/// Where the name of a function begins whose last word is at `last`: "Linear::forward", "Grid<T>::at".
std::size_t start_of_name(const Head& head, std::size_t last) {
  auto begin = last;
  if (begin > 0 && (head[begin - 1].text == "~" || head[begin - 1].text == "operator")) --begin;
  while (begin > 1 && head[begin - 1].text == "::") {
    auto before = begin - 2;
    if (head[before].text == ">") {
      int depth = 0;
      do {
        if (head[before].text == ">") ++depth;
        if (head[before].text == "<") --depth;
      } while (depth > 0 && before-- > 1);
      if (before == 0) break;
      --before;
    }
    if (!is_name(head[before])) break;
    begin = before;
  }
  return begin;
}

/// The name of a class or enumeration whose last class key is at `key`; no_token if it has none, and for a
/// specialisation of a template.
std::size_t type_name(const Head& head, std::size_t key) {
  std::size_t name = no_token;
  for (std::size_t i = key + 1; i < head.size(); ++i) {
    if (head[i].text == "alignas") {
      ++i;
    } else if (head[i].text == ":" || head[i].text == "final") {
      break;
    } else if (is_name(head[i])) {
      name = i;
    } else if (head[i].text != "[]") {
      return no_token;
    }
  }
  return name;
}

/// The last class key outside of template arguments, or no_token.
std::size_t class_key(const Head& head) {
  std::size_t key = no_token;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i].text == "<") i = after_angle(head, i) - 1;
    if (i < head.size() && is_class_key(head[i])) key = i;
    if (i < head.size() && (head[i].text == ":" || head[i].text == "()")) break;
  }
  return key;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : tokens_(tokens_of(source)) {}

  std::vector<Declaration> read() {
    while (at_ < tokens_.size()) step();
    return std::move(found_);
  }

 private:
  /// A namespace, or a class with its place among what was found.
  struct Scope {
    std::string name;
    std::size_t type = no_token;
    bool is_namespace = false;
  };

  void step() {
    const std::string& text = tokens_[at_].text;
    if (first_line_ == 0) first_line_ = tokens_[at_].line;
    if (text == "{") {
      open_brace();
    } else if (text == "}") {
      close_scope();
    } else if (text == ";") {
      end_statement();
    } else if (text == "(" || text == "[") {
      put_group(text == "(" ? "()" : "[]");
    } else if (text == "template" && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "<") {
      at_ = after_angle(tokens_, at_ + 1);
    } else if (text == ":" && head_.size() == 1 && is_access(head_[0])) {
      start_anew();
      ++at_;
    } else {
      head_.push_back(tokens_[at_++]);
    }
  }

  static bool is_access(const Token& token) {
    constexpr std::array<std::string_view, 3> class_words = {"public", "private", "protected"};
    return is_one_of(token, class_words);
  }

  void start_anew() {
    head_.clear();
    first_line_ = 0;
  }

  void put_group(const char* text) {
    // An attribute says nothing about what is declared.
    const bool attribute =
        text[0] == '[' && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "[" && head_.empty();
    if (!attribute) head_.push_back({text, tokens_[at_].line});
    at_ = after_bracket(tokens_, at_);
  }

  void open_brace() {
    const auto space = find(head_, "namespace");
    const auto key = class_key(head_);
    const bool assigned = find(head_, "=") != no_token;
    if (space != no_token) {
      const std::string name = joined(head_, space + 1, head_.size());
      open_scope({name.empty() ? "(anonymous)" : name, no_token, true});
    } else if (head_.size() == 2 && head_[0].text == "extern") {
      open_scope({"", no_token, true});
    } else if (key != no_token && !assigned && is_type_head(key)) {
      open_type(key);
    } else if (is_lambda()) {
      add_body(find(head_, "=") - 1);
    } else if (is_function_body(assigned)) {
      add_body(parameter_list(head_) - 1);
      start_anew();
    } else {
      put_group("{}");
    }
  }

  /// A class or enumeration, specialisations among them.
  bool is_type_head(std::size_t key) const {
    const auto list = parameter_list(head_);
    const auto base = find(head_, ":", key);
    return list == no_token || (base != no_token && base < list);
  }

  /// `name = [captures] …` at namespace scope or in a class.
  bool is_lambda() const {
    const auto assigned = find(head_, "=");
    return assigned != no_token && assigned > 0 && assigned + 1 < head_.size() &&
           head_[assigned + 1].text == "[]";
  }

  bool is_function_body(bool assigned) const {
    const auto list = parameter_list(head_);
    if (list == no_token || (assigned && find(head_, "=") < list)) return false;
    // `requires (T t) { … }` is an expression.
    if (head_.back().text == "requires") return false;
    if (head_.back().text == "()" && head_.size() > 1 && head_[head_.size() - 2].text == "requires")
      return false;
    // After the colon of a constructor, a brace behind a name is the initialiser of that member.
    return find(head_, ":", list) == no_token || !(is_name(head_.back()) || head_.back().text == ">");
  }

  void open_scope(Scope scope) {
    scopes_.push_back(std::move(scope));
    start_anew();
    ++at_;
  }

  void open_type(std::size_t key) {
    const auto name = type_name(head_, key);
    std::size_t type = no_token;
    if (name != no_token) {
      type = found_.size();
      add(Declaration::Kind::type, name, name);
      found_.back().is_defined = true;
    }
    const bool is_enum = head_[key].text == "enum" || (key > 0 && head_[key - 1].text == "enum");
    if (!is_enum) {
      open_scope({name == no_token ? "" : head_[name].text, type, false});
      return;
    }
    at_ = after_bracket(tokens_, at_);
    if (type != no_token) found_[type].last_line = tokens_[at_ - 1].line;
    start_anew();
  }

  /// The function whose name ends at `last`, and whose body begins here.
  void add_body(std::size_t last) {
    add(Declaration::Kind::function, start_of_name(head_, last), last);
    put_group("{}");
    found_.back().is_defined = true;
    found_.back().last_line = tokens_[at_ - 1].line;
  }

  void close_scope() {
    if (!scopes_.empty()) {
      if (scopes_.back().type != no_token) found_[scopes_.back().type].last_line = tokens_[at_].line;
      scopes_.pop_back();
    }
    start_anew();
    ++at_;
  }

  void end_statement() {
    if (!head_.empty()) read_statement();
    start_anew();
    ++at_;
  }

  /// A declaration without a body.
  void read_statement() {
    constexpr std::array<std::string_view, 6> other_words = {"friend", "static_assert", "namespace",
                                                             "extern", "concept",       "template"};
    const Token& first = head_[0];
    const auto assigned = std::min(find(head_, "="), head_.size());
    if (is_one_of(first, other_words) || is_lambda()) return;
    if (first.text == "using") {
      if (assigned == 2 && head_.size() > 3) add(Declaration::Kind::type, 1, 1);
      return;
    }
    if (first.text == "typedef") {
      add(Declaration::Kind::type, head_.size() - 1, head_.size() - 1);
      return;
    }
    const auto list = parameter_list(head_);
    if (list != no_token && list < assigned) {
      const auto begin = start_of_name(head_, list - 1);
      if (begin > 0 || in_class()) add(Declaration::Kind::function, begin, list - 1);
      return;
    }
    const auto key = class_key(head_);
    const auto name = key == no_token ? no_token : type_name(head_, key);
    if (name != no_token) {
      if (name == key + 1 || head_[key + 1].text == "class") add(Declaration::Kind::type, name, name);
    } else if (assigned > 1 && assigned < head_.size() && is_name(head_[assigned - 1])) {
      add(Declaration::Kind::variable, assigned - 1, assigned - 1);
    }
  }

  bool in_class() const { return !scopes_.empty() && !scopes_.back().is_namespace; }

  /// `head_[begin, last]` is the name.
  void add(Declaration::Kind kind, std::size_t begin, std::size_t last) {
    Declaration one;
    one.kind = kind;
    one.name = joined(head_, begin, last + 1);
    if (kind == Declaration::Kind::function) one.result = joined(head_, 0, begin);
    for (const Scope& scope : scopes_) {
      if (scope.name.empty()) continue;
      if (!one.scope.empty()) one.scope += "::";
      one.scope += scope.name;
    }
    one.is_member = in_class();
    one.line = head_[last].line;
    one.first_line = first_line_;
    one.last_line = tokens_[at_].line;
    found_.push_back(std::move(one));
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Head head_;
  /// Of the declaration that is being read; 0 before its first token.
  int first_line_ = 0;
  std::vector<Scope> scopes_;
  std::vector<Declaration> found_;
};

}  // namespace

std::vector<Declaration> declarations_of(std::string_view source) { return Reader(source).read(); }

std::vector<Declaration> declared_functions(std::string_view header) {
  auto found = declarations_of(header);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const Declaration& one) {
                               return one.kind != Declaration::Kind::function || one.is_member ||
                                      one.result.empty() || one.name.find("operator") != std::string::npos ||
                                      one.scope.find("detail") != std::string::npos;
                             }),
              found.end());
  return found;
}

}  // namespace heed::lint
