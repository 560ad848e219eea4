#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/report/jsonl_log.h>

namespace heed::train::report {
namespace {

[[noreturn]] void fail_with_errno(std::string_view step, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  fail<IoError>("JsonlLog", std::string(step) + " '" + path + "'", reason);
}

// Takes the last bytes of a file away.
void cut_off(int number, std::size_t bytes) {
  const off_t end = ::lseek(number, 0, SEEK_END);
  if (bytes == 0 || end < 0) return;
  [[maybe_unused]] const int ignored = ::ftruncate(number, end - static_cast<off_t>(bytes));
}

}  // namespace

std::string to_json_line(const std::vector<LogField>& fields) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  for (const auto& field : fields) {
    std::visit([&](const auto& value) { line[field.name] = value; }, field.value);
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

JsonlLog::JsonlLog(std::string path)
    : path_(std::move(path)),
      number_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (number_ < 0) fail_with_errno("cannot open", path_);
}

JsonlLog::~JsonlLog() { ::close(number_); }

void JsonlLog::write(const std::vector<LogField>& fields) {
  pending_ += to_json_line(fields) + "\n";
  catch_up();
}

void JsonlLog::catch_up() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(number_, pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = errno;
      cut_off(number_, done);
      errno = reason;
      fail_with_errno("cannot write", path_);
    }
    done += static_cast<std::size_t>(count);
  }
  pending_.clear();
}

}  // namespace heed::train::report
