#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <heed/app/output.h>

namespace heed::app {
namespace {

[[noreturn]] void fail_with_errno() {
  const std::string reason = std::generic_category().message(errno);
  throw OutputLost("standard output cannot be written: " + reason);
}

}  // namespace

void write_out(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) fail_with_errno();
}

void close_out() {
  if (std::fclose(stdout) != 0) fail_with_errno();
}

void write_err(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

void hold_standard_streams() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) != -1) continue;
    ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest free number
  }
}

}  // namespace heed::app
