#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace heed::io {

/// A regular file mapped into memory for reading: the system loads pages when they are touched. Copies
/// share the mapping, which ends with the last copy. The file must not be truncated while it is mapped;
/// replacing it through AtomicFile is safe.
/// Throws    IoError naming the file: it cannot be read, is not a regular file, or is a Git LFS pointer.
class MemoryMap {
 public:
  explicit MemoryMap(const std::string& path);

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  std::shared_ptr<const std::byte> data_;  // null for an empty file
  std::size_t size_ = 0;
};

}  // namespace heed::io
