#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>

namespace heed::io {
namespace {

namespace fs = std::filesystem;

std::string temporary_name(const fs::path& path) {
  static std::atomic<std::uint64_t> serial{0};
  const std::string name = fmt::format(".{}.tmp-{}-{}", path.filename().string(), ::getpid(), serial++);
  return (path.parent_path() / name).string();
}

std::string folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  if (!fs::path(path_).has_filename()) fail<IoError>("write", "not a file name", "'" + path_ + "'");
  if (fs::is_directory(path_)) fail<IoError>("write", "'" + path_ + "' is a folder");
  const int descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_with_errno("cannot create a file for");
  file_ = ::fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    ::close(descriptor);
    fail_with_errno("cannot open a file for");
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (file_ == nullptr) fail<ValueError>("write", "'" + path_ + "' is already closed");
  if (bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_with_errno("cannot write");
}

void AtomicFile::commit() {
  if (file_ == nullptr) fail<ValueError>("write", "'" + path_ + "' is already closed");
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail_with_errno("cannot write");
  if (std::fclose(std::exchange(file_, nullptr)) != 0 ||
      std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail_with_errno("cannot put in place");
  }
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_with_errno("cannot sync the folder of");
  // EINVAL: the file system does not sync folders.
  const bool synced = ::fsync(folder) == 0 || errno == EINVAL;
  const int reason = errno;
  ::close(folder);
  errno = reason;
  if (!synced) fail_with_errno("cannot sync the folder of");
}

void AtomicFile::discard() {
  if (file_ == nullptr) return;
  std::fclose(std::exchange(file_, nullptr));
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail_with_errno(std::string_view step) {
  const std::string reason = std::generic_category().message(errno);
  discard();
  fail<IoError>("write", std::string(step) + " '" + path_ + "'", reason);
}

void write_file(const std::string& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace heed::io
