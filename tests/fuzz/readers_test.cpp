// Every kind of file that heed reads, damaged some thousand times: it is refused by an error that names the file, or is whole.

#include "readers.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include <catch2/catch.hpp>
#include <unistd.h>

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

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    for (std::size_t i = below(3) + 1; i > 0 && !bytes.empty(); --i) once(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void once(std::string& bytes) {
    static constexpr std::array<std::string_view, 10> pieces = {
        "0", "-1",   "18446744073709551615",   "1e400", "null", "[[[[[[[[[[[[[[[[[[[[", "\"",
        "}", "\xff", std::string_view("\0", 1)};
    const std::size_t at = below(bytes.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(bytes.size() - at, 24));
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 5:
        bytes.insert(at, pieces[below(pieces.size())]);
        break;
      default:
        replace_number(bytes, at);
    }
  }

  // The next run of digits, by another.
  void replace_number(std::string& bytes, std::size_t at) {
    const std::size_t begin = std::min(bytes.find_first_of("0123456789", at), bytes.size());
    const std::size_t end = std::min(bytes.find_first_not_of("0123456789", begin), bytes.size());
    static constexpr std::array<std::string_view, 8> numbers = {
        "0", "1", "7", "4294967296", "9223372036854775807", "99999999999999999999", "-3", "2.5"};
    bytes.replace(begin, end - begin, numbers[below(numbers.size())]);
  }

  std::mt19937 random_;
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
