#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>

namespace fs = std::filesystem;
using heed::io::AtomicFile;
using heed::io::write_file;

namespace {

// A fresh folder, removed at the end of the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("heed_atomic_file_test_" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a written file holds exactly the bytes") {
  const Folder folder;
  const auto path = folder.path / "model.bin";
  const std::string bytes("a\0\n\xFF", 4);
  write_file(path, bytes);
  CHECK(contents(path) == bytes);
  write_file(path, "shorter");
  CHECK(contents(path) == "shorter");
  write_file(path, "");
  CHECK(contents(path).empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("nothing shows before commit, and nothing stays without it") {
  const Folder folder;
  const auto path = folder.path / "log";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("text");
    CHECK(contents(path) == "old");
    CHECK(folder.entries() == 2);
  }
  CHECK(contents(path) == "old");
  CHECK(folder.entries() == 1);
  AtomicFile file(path);
  file.write("new");
  file.commit();
  CHECK(contents(path) == "new");
  CHECK(folder.entries() == 1);
  CHECK_THROWS_AS(file.write("more"), heed::ValueError);
  CHECK_THROWS_AS(file.commit(), heed::ValueError);
}

TEST_CASE("a place that cannot be written is named with the reason") {
  const Folder folder;
  const std::string missing = (folder.path / "no" / "file").string();
  CHECK_THROWS_WITH(write_file(missing, "x"),
                    "write: cannot create a file for '" + missing + "', No such file or directory");
  CHECK_THROWS_WITH(write_file(folder.path, "x"), "write: '" + folder.path.string() + "' is a folder");
  CHECK_THROWS_WITH(write_file("", "x"), "write: not a file name, ''");
  CHECK_THROWS_AS(write_file("/proc/heed", "x"), heed::IoError);
  CHECK(folder.entries() == 0);
}

TEST_CASE("a write that fails halfway leaves the old file and no temporary one") {
  const Folder folder;
  const auto path = folder.path / "model";
  write_file(path, "old");
  rlimit saved{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &saved) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{4096, saved.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::string message;
  try {
    write_file(path, std::string(1 << 20, 'x'));
  } catch (const heed::IoError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &saved);
  std::signal(SIGXFSZ, handler);
  CHECK(message == "write: cannot write '" + path.string() + "', File too large");
  CHECK(contents(path) == "old");
  CHECK(folder.entries() == 1);
}
