#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heed::train::report {

/// One field of a JSON object.
struct LogField {
  std::string name;
  std::variant<bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>> value;
};

/// The object as one line of JSON, with fields in the given order and numbers in the shortest form that
/// reads back equal. NaN and infinity, which JSON does not have, become null. Bytes of a string that are
/// not UTF-8 become U+FFFD.
std::string to_json_line(const std::vector<LogField>& fields);

/// Appends JSON objects to a file, one on each line. A line is passed to the system as a whole, so a
/// program that is killed leaves only whole lines. What a full disk did not take is cut off again and kept
/// in memory, and written before the next line.
/// Throws    IoError naming the path and the system's reason.
class JsonlLog {
 public:
  explicit JsonlLog(std::string path);
  ~JsonlLog();
  JsonlLog(const JsonlLog&) = delete;
  JsonlLog& operator=(const JsonlLog&) = delete;

  void write(const std::vector<LogField>& fields);

  /// Writes what an earlier write() could not.
  void catch_up();

 private:
  std::string path_;
  int number_;
  std::string pending_;  // lines that are not in the file yet
};

}  // namespace heed::train::report
