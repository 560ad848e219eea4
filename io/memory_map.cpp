#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/sanitizer.h>
#include <heed/io/memory_map.h>
#include <heed/io/read_file.h>

#if defined(HEED_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace heed::io {
namespace {

[[noreturn]] void fail_mapping(const std::string& path, const std::string& reason) {
  fail<IoError>("read", fmt::format("'{}': {}", path, reason));
}

[[noreturn]] void fail_with_errno(const std::string& path) {
  fail_mapping(path, std::generic_category().message(errno));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// The page that holds the end of a mapped file is filled up with zeros. AddressSanitizer is told that these
// bytes do not belong to the file.
#if defined(HEED_ADDRESS_SANITIZER)
std::size_t whole_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

void forbid_rest_of_page(void* data, std::size_t size) {
  ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(data) + size, whole_pages(size) - size);
}

void allow_whole_pages(void* data, std::size_t size) { ASAN_UNPOISON_MEMORY_REGION(data, whole_pages(size)); }
#else
void forbid_rest_of_page(void*, std::size_t) {}
void allow_whole_pages(void*, std::size_t) {}
#endif

}  // namespace

MemoryMap::MemoryMap(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) fail_with_errno(path);
  if (!S_ISREG(status.st_mode)) fail_mapping(path, "not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // mmap refuses a length of 0
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail_with_errno(path);
  forbid_rest_of_page(data, size_);
  const auto unmap = [data, size = size_](const std::byte*) {
    allow_whole_pages(data, size);
    ::munmap(data, size);
  };
  data_ = std::shared_ptr<const std::byte>(static_cast<const std::byte*>(data), unmap);
  refuse_lfs_pointer(path, {static_cast<const char*>(data), size_});
}

}  // namespace heed::io
