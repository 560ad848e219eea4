#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

// A fresh folder, removed at the end of the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("heed_tiny_lm_test_" + std::to_string(::getpid()));
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

// Runs tiny_lm in a shell; the outputs go through files of `folder`.
inline Outcome tiny_lm(const Folder& folder, const std::string& arguments, const std::string& prefix = {}) {
  const std::string program = std::string(HEED_BIN_DIR) + "/tiny_lm";
  const std::string out = folder / "stdout";
  const std::string err = folder / "stderr";
  const std::string command = prefix + "'" + program + "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

inline std::string sample_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "caf\u00e9 and tea\n";
  return text;
}
