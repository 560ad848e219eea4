#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::io {

/// Takes the fields of a JSON object one by one and gathers what is wrong with them, so that one error can list all of it. A
/// field that is null counts as absent.
class JsonFields {
 public:
  /// Throws    ValueError when the text is no JSON object.
  explicit JsonFields(std::string_view json);
  ~JsonFields();
  JsonFields(JsonFields&&) noexcept;
  JsonFields& operator=(JsonFields&&) = delete;
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;

  bool has(std::string_view key) const;
  /// A problem unless the field is there.
  void require(std::string_view key);

  // Each leaves the member alone where the field is absent, and where it is of another kind, which is a problem.
  void integer(std::string_view key, std::int64_t& member);
  void number(std::string_view key, double& member);
  void flag(std::string_view key, bool& member);
  void text(std::string_view key, std::string& member);
  /// The place of the field's text among `names`; none where it is absent or, a problem, another text.
  std::optional<std::size_t> choice(std::string_view key, const std::vector<std::string_view>& names);
  /// A problem unless the field is absent or one of these, each JSON.
  void allow(std::string_view key, const std::vector<std::string_view>& values);
  /// A field that is an object; it shares the list of problems, in which its keys begin with `key.`.
  std::optional<JsonFields> object(std::string_view key);

  void problem(std::string text);
  /// Fields that nobody has asked for are problems.
  void refuse_others();
  /// ValueError with every problem. `owner` is what the fields describe.
  void check(std::string_view owner) const;

 private:
  struct State;
  explicit JsonFields(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heed::io
