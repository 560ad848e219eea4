#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed::io {

/// The bytes of a regular file. No memory is allocated before its size is known to be at most `most_bytes`.
/// Throws    IoError naming the file: it cannot be read, is not a regular file, is larger, or is a Git LFS
///           pointer, as refuse_lfs_pointer has it.
std::string read_file(const std::string& path, std::uint64_t most_bytes = std::uint64_t{1} << 40);

/// Git leaves a pointer of three lines in place of a large file that was not fetched.
/// Throws    IoError naming the file and what to do, if these bytes, all of it, are such a pointer.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

struct JsonLimits {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  int depth = 16;
};

/// Why `text` is not one JSON object in UTF-8, nested at most `most_depth` deep, with no name twice in
/// one object: "is no JSON object" or the like. Empty when it is one. Takes time proportional to the
/// length of the text.
std::string json_object_problem(std::string_view text, int most_depth);

/// The text of a file that holds one JSON object, checked before anything is built from it.
/// Throws    IoError naming the file: as read_file; not JSON in UTF-8 (naming the byte); not an object;
///           nested deeper than limits.depth; a name twice in one object.
std::string read_json_object(const std::string& path, const JsonLimits& limits = {});

/// The FNV-1a checksum of the bytes of a file, 64 bits as 16 hexadecimal digits. It finds accidental
/// damage, not forgery.
/// Throws    IoError.
std::string file_checksum(const std::string& path);
/// The same checksum of bytes in memory.
std::string text_checksum(std::string_view text);

/// The same checksum, computed in parts: only the order of the bytes matters, not how they are divided.
class Checksum {
 public:
  void add(std::string_view bytes);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace heed::io
