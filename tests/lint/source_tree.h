#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::lint {

/// One text file of the repository; `path` is relative to its root.
struct SourceFile {
  std::string path;
  std::string text;
};

/// One `#include` line.
struct Include {
  std::string target;
  bool quoted = false;
  int line = 0;
};

/// All sources, headers and build files of the repository under `root`, sorted by path.
std::vector<SourceFile> read_tree(const std::string& root);

std::vector<std::string> lines_of(std::string_view text);
std::vector<Include> includes_of(const SourceFile& file);

/// The innermost room that a path lies in: "train/report" for "train/report/page.h"; empty for a file in the
/// root. A folder that is no room belongs to the room it lies in.
std::string room_of(std::string_view path);
/// "train" for "train/report"; a room that lies in none is its own.
std::string outer_room(std::string_view room);
/// Whether the path lies in a folder `kernels` of the library.
bool in_kernels(std::string_view path);
bool is_cpp(const SourceFile& file);
/// A header that is installed: in one of the library's rooms and not among the kernels.
bool is_public_header(std::string_view path);
/// Whether the path lies in a folder that becomes part of the library.
bool in_library(std::string_view path);

}  // namespace heed::lint
