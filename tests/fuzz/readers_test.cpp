// Every kind of file that heed reads, damaged some thousand times: it is refused by an error that names the file, or is whole.

#include "readers.h"

#include <catch2/catch.hpp>
#include <unistd.h>

#include "damage.h"

using namespace heed::test::fuzz;
namespace fs = std::filesystem;

namespace {

// In memory where there is such a place: thousands of files are written.
fs::path scratch() { return fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(); }

struct Folder {
  fs::path path = scratch() / ("heed_readers_test_" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

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
