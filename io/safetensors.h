#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <heed/core/tensor.h>
#include <heed/io/memory_map.h>

namespace heed::io {

/// One tensor of a safetensors file as it is stored: little-endian elements in row-major order, which need
/// not be aligned.
struct SafetensorsEntry {
  std::string dtype;  // F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL
  Shape shape;
  std::span<const std::byte> bytes;
};

/// A safetensors file, opened for reading. The whole header is checked before anything is returned:
/// lengths, names, dtypes, shapes, and offsets that cover the data exactly, without gaps or overlaps. No
/// memory is allocated for a size that the file claims but does not have. The bytes are mapped, not read,
/// so the file must not be truncated while this object lives; replacing it through AtomicFile is safe.
/// Throws    IoError naming the file and, where there is one, the tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }

  /// A new tensor. F16 and BF16 become f32; I8, U8, I16 and U16 become i32; U32 and U64 become i64.
  /// Throws    IoError (no tensor of this name, a BOOL other than 0 and 1, a U64 beyond i64).
  Tensor load(const std::string& name) const;

 private:
  std::string path_;
  MemoryMap file_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// All tensors of a file, ordered by name; SafetensorsFile reads one at a time, and the metadata.
/// Throws    IoError as SafetensorsFile and its load do.
std::vector<std::pair<std::string, Tensor>> load_safetensors(const std::string& path);

/// Writes tensors under their names, whole or not at all: the elements in row-major order, whatever the
/// strides are. Equal content gives equal bytes. Data are aligned to their element size.
/// Throws    ValueError (a name given twice, the name `__metadata__`, text that is not UTF-8), IoError.
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace heed::io
