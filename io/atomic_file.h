#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace heed::io {

/// A file that appears whole or not at all. Bytes go to a temporary file in the same folder; commit()
/// flushes and syncs it, renames it to `path` and syncs the folder. Without commit() the destructor removes
/// the temporary file, and `path` keeps its former content.
/// Throws    IoError, from the constructor, write and commit; it names the path, the step and
///           the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Call it once, after the last write.
  void commit();

 private:
  void discard();
  [[noreturn]] void fail_with_errno(std::string_view step);

  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
};

/// Writes a whole file through AtomicFile.
void write_file(const std::string& path, std::string_view contents);

}  // namespace heed::io
