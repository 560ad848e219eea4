#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed attend` can be told.
struct AttendOptions {
  std::filesystem::path model;
  std::string text;
  std::int64_t layer = -1;          // −1: all
  std::int64_t head = -1;           // −1: all
  std::filesystem::path page = {};  // empty: attention.html beside the model
};

void add_attend_options(CLI::App& command, AttendOptions& options);

/// `heed attend`: prints where the heads of a model look in a text, and writes a page of them.
int attend_text(const AttendOptions& options);

}  // namespace heed::app
