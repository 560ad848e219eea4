#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace heed::test::fuzz {

/// A folder of this process for as long as it lives, in memory where there is such a place: thousands of
/// files are written.
struct Folder {
  std::filesystem::path path;

  explicit Folder(const std::string& name = "readers") {
    namespace fs = std::filesystem;
    path = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
           ("heed_" + name + "_" + std::to_string(::getpid()));
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::uintmax_t bytes() const {
    std::uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) sum += entry.file_size();
    }
    return sum;
  }
};

}  // namespace heed::test::fuzz
