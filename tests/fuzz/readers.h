#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed::test::fuzz {

/// One kind of file that heed reads, for fuzzers: tests/fuzz/readers_test.cpp damages valid files by rule,
/// tests/fuzz_readers lets libFuzzer do it.
struct Reader {
  const char* name;
  /// A valid file. `folder` is for what writing it takes.
  std::string (*seed)(const std::filesystem::path& folder);
  /// Reads a file and uses what was read. Throws    heed::Error when it is refused.
  void (*read)(const std::filesystem::path& file);
  /// Whether it is a JSON object that is read as it lies there, or a safetensors file, whose header is one.
  bool json = false;
};

const std::vector<Reader>& readers();

/// Writes `bytes` to a file of `folder` and reads it. Whether it was taken.
/// Throws    std::logic_error when it was refused with an error that does not name the file.
bool take(const Reader& reader, const std::string& bytes, const std::filesystem::path& folder);

}  // namespace heed::test::fuzz
