// libFuzzer's entry for every reader of tests/fuzz/readers.h. HEED_FUZZ_READER names the one to run; --list
// prints the names, --seed DIR writes a valid file of each kind to DIR/<name>/valid.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include <heed/tests/fuzz/damage.h>
#include <heed/tests/fuzz/readers.h>
#include <heed/tests/fuzz/scratch.h>

namespace {

namespace fs = std::filesystem;
using heed::test::fuzz::Folder;
using heed::test::fuzz::Reader;
using heed::test::fuzz::readers;

const Reader* chosen = nullptr;
std::optional<Folder> folder;
std::string valid;  // a file of the chosen kind

void write_seeds(const fs::path& corpus) {
  for (const Reader& reader : readers()) {
    const Folder scratch("fuzz");
    const std::string bytes = reader.seed(scratch.path);
    fs::create_directories(corpus / reader.name);
    std::ofstream(corpus / reader.name / "valid", std::ios::binary) << bytes;
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string_view first = *count > 1 ? (*arguments)[1] : "";
  if (first == "--list") {
    for (const Reader& reader : readers()) std::printf("%s\n", reader.name);
    std::exit(0);
  }
  if (first == "--seed" && *count > 2) {
    write_seeds((*arguments)[2]);
    std::exit(0);
  }
  const char* name = std::getenv("HEED_FUZZ_READER");
  for (const Reader& reader : readers()) {
    if (name != nullptr && std::string_view(name) == reader.name) chosen = &reader;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "HEED_FUZZ_READER must be one of the names that --list prints\n");
    std::exit(2);
  }
  folder.emplace("fuzz");
  valid = chosen->seed(folder->path);  // writes what lies beside the file, too
  return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::test::fuzz::take(*chosen, std::string(reinterpret_cast<const char*>(data), size), folder->path);
  return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Every other time libFuzzer's own mutation; else damage that knows what files hold, of this input or of
// the valid one, from which blind mutations soon wander off.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  heed::test::fuzz::Damage damage(seed);
  const std::string bytes =
      damage(seed % 4 == 1 ? valid : std::string(reinterpret_cast<const char*>(data), size));
  const std::size_t length = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), length);
  return length;
}
