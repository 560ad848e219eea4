#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/memory_map.h>

namespace heed::io {
namespace {

[[noreturn]] void fail_reading(const std::filesystem::path& path, const std::string& reason) {
  fail<IoError>("read", fmt::format("'{}': {}", path.string(), reason));
}

[[noreturn]] void fail_with_errno(const std::filesystem::path& path) {
  fail_reading(path, std::generic_category().message(errno));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MemoryMap::MemoryMap(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) fail_with_errno(path);
  if (!S_ISREG(status.st_mode)) fail_reading(path, "not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // mmap refuses a length of 0
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail_with_errno(path);
  const auto unmap = [size = size_](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); };
  data_ = std::shared_ptr<const std::byte>(static_cast<const std::byte*>(data), unmap);
}

}  // namespace heed::io
