#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace tiny_lm {

/// What `tiny_lm attend` can be told.
struct AttendOptions {
  std::filesystem::path model;
  std::string text;
  std::int64_t layer = -1;          // −1: all
  std::int64_t head = -1;           // −1: all
  std::filesystem::path page = {};  // empty: attention.html beside the model
};

void add_attend_options(CLI::App& command, AttendOptions& options);

/// `tiny_lm attend`: prints where the heads of a model look in a text, and writes a page of them.
int attend_text(const AttendOptions& options);

}  // namespace tiny_lm
