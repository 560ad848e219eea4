#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <heed/tests/lint/source_tree.h>

namespace heed::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> library_rooms = {"numeric", "core", "ops", "nn",    "optim",
                                                            "io",      "text", "lm",  "check", "train"};
constexpr std::array<std::string_view, 4> inner_rooms = {"ops/attention", "ops/kernels", "train/report",
                                                         "train/distributed"};
constexpr std::array<std::string_view, 16> folders = {"numeric",  "core",  "ops",   "nn",    "optim", "io",
                                                      "text",     "lm",    "check", "train", "app",   "tests",
                                                      "examples", "bench", "cmake", ".ci"};

bool is_text_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".cmake" || extension == ".sh" ||
         path.filename() == "CMakeLists.txt" || path.filename() == "dev" || path.filename() == "run";
}

SourceFile read_file(const fs::path& root, const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return {fs::relative(path, root).generic_string(), text.str()};
}

}  // namespace

std::vector<SourceFile> read_tree(const std::string& root) {
  std::vector<SourceFile> files;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file() && is_text_source(entry.path()))
      files.push_back(read_file(root, entry.path()));
  }
  for (const auto folder : folders) {
    const fs::path start = fs::path(root) / folder;
    if (!fs::exists(start)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(start)) {
      if (entry.is_regular_file() && is_text_source(entry.path()))
        files.push_back(read_file(root, entry.path()));
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> found;
  int number = 0;
  for (const auto& line : lines_of(file.text)) {
    ++number;
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const auto open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const auto close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string::npos) continue;
    found.push_back({line.substr(open + 1, close - open - 1), line[open] == '"', number});
  }
  return found;
}

std::string room_of(std::string_view path) {
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return "";
  for (const auto room : inner_rooms) {
    if (path.starts_with(room) && path.substr(room.size()).starts_with('/')) return std::string(room);
  }
  return std::string(path.substr(0, slash));
}

std::string outer_room(std::string_view room) { return std::string(room.substr(0, room.find('/'))); }

bool in_kernels(std::string_view path) {
  return in_library(path) && path.find("/kernels/") != std::string_view::npos;
}

bool is_cpp(const SourceFile& file) { return file.path.ends_with(".h") || file.path.ends_with(".cpp"); }

bool in_library(std::string_view path) {
  return std::find(library_rooms.begin(), library_rooms.end(), outer_room(room_of(path))) !=
         library_rooms.end();
}

bool is_public_header(std::string_view path) {
  return in_library(path) && path.ends_with(".h") && !in_kernels(path);
}

}  // namespace heed::lint
