#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/train/report/jsonl_log.h>

namespace heed::train::report {
namespace {

[[noreturn]] void fail_with_errno(std::string_view step, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  fail<IoError>("JsonlLog", std::string(step) + " '" + path + "'", reason);
}

}  // namespace

std::string to_json_line(const std::vector<LogField>& fields) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  for (const auto& field : fields) {
    std::visit([&](const auto& value) { line[field.name] = value; }, field.value);
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

JsonlLog::JsonlLog(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "ab")) {
  if (file_ == nullptr) fail_with_errno("cannot open", path_);
}

JsonlLog::~JsonlLog() { std::fclose(file_); }

void JsonlLog::write(const std::vector<LogField>& fields) {
  const std::string line = to_json_line(fields) + "\n";
  const bool written = std::fwrite(line.data(), 1, line.size(), file_) == line.size();
  if (!written || std::fflush(file_) != 0) fail_with_errno("cannot write", path_);
}

}  // namespace heed::train::report
