// Every kind of file that heed reads, damaged some thousand times: it is refused by an error that names the
// file, or is whole.

#include "readers.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include "damage.h"
#include "scratch.h"

using namespace heed::test::fuzz;

namespace {

// The file with `tail` after its JSON object: at its end, or within the header of a safetensors file.
std::string with_json_tail(const std::string& bytes, const std::string& tail) {
  if (bytes.starts_with('{')) return bytes + tail;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t end = sizeof length + static_cast<std::size_t>(length);
  length += tail.size();
  std::string changed = bytes.substr(0, end) + tail + bytes.substr(end);
  std::memcpy(changed.data(), &length, sizeof length);
  return changed;
}

}  // namespace

TEST_CASE("damaged files of every kind are refused by name, or whole", "[report-37][report-38]") {
  const int rounds = std::getenv("HEED_LONG_TESTS") != nullptr ? 20'000 : 500;
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    const Folder folder;
    const std::string seed = reader.seed(folder.path);
    REQUIRE(take(reader, seed, folder.path));
    Damage damage(1);
    int taken = 0;
    for (int i = 0; i < rounds; ++i) {
      const std::string bytes = damage(seed);
      std::string fault;
      try {
        taken += take(reader, bytes, folder.path) ? 1 : 0;
      } catch (const std::exception& error) {
        fault = error.what();
      }
      if (fault.empty()) continue;
      CAPTURE(i, bytes);
      FAIL_CHECK(fault);
    }
    CHECK(taken < rounds / 2);  // most damage is seen
  }
}

// A JSON library that ends at a NUL takes what stands before it for the whole.
TEST_CASE("JSON that is followed by NUL bytes and more is refused", "[fault-19]") {
  for (const Reader& reader : readers()) {
    if (!reader.json) continue;
    CAPTURE(reader.name);
    const Folder folder;
    const std::string seed = reader.seed(folder.path);
    for (const std::string& tail :
         {std::string(1, '\0'), std::string("\0junk", 5), std::string(" \0{}", 4)}) {
      CHECK_FALSE(take(reader, with_json_tail(seed, tail), folder.path));
    }
  }
}
