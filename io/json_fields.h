#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::io {

/// Reads the fields of a JSON object one by one and collects what is wrong with them, so that one error can
/// list all problems. A field that is null counts as absent.
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
  /// Records a problem if the field is missing.
  void require(std::string_view key);

  // Each reads one field. If the field is absent, the member keeps its value; if the field is of another
  // kind, too, and a problem is recorded.
  void integer(std::string_view key, std::int64_t& member);
  void number(std::string_view key, double& member);
  void flag(std::string_view key, bool& member);
  void text(std::string_view key, std::string& member);
  /// The index in `names` of the field's text; none if the field is absent. Any other text is recorded as a
  /// problem and gives none.
  std::optional<std::size_t> choice(std::string_view key, const std::vector<std::string_view>& names);
  /// Records a problem unless the field is absent or equal to one of `values`, each of which is JSON.
  void allow(std::string_view key, const std::vector<std::string_view>& values);
  /// A field that is itself an object. It shares the list of problems, where its keys
  /// appear as `key.inner`.
  std::optional<JsonFields> object(std::string_view key);

  void problem(std::string text);
  /// Records a problem for each field that no call has asked for.
  void refuse_others();
  /// Throws    ValueError with all problems, if there are any. `owner` says what the fields describe.
  void check(std::string_view owner) const;

 private:
  struct State;
  explicit JsonFields(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heed::io
