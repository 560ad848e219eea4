// Every kind of file that heed reads, damaged some thousand times: it is refused by an error that names the file, or is whole.

#include "readers.h"

#include <cstdlib>

#include <catch2/catch.hpp>

#include "damage.h"
#include "scratch.h"

using namespace heed::test::fuzz;

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
