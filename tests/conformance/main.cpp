// conformance PATH…: runs conformance cases and tells which pass.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/core/error.h>

#include "runner.h"

namespace heed::conformance {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage =
    "usage: conformance [--skipped] [--strict] [--filter TEXT] PATH...\n"
    "  PATH           a case (a safetensors file), or a folder of them\n"
    "  --skipped      also list the cases that are skipped, each with its "
    "reason\n"
    "  --strict       hold F32 results of the onnx suite to rtol 1e-5, atol "
    "1e-6\n"
    "  --filter TEXT  only cases whose file name contains TEXT\n";

struct Arguments {
  bool skipped = false;
  bool help = false;
  RunOptions run;
  std::string filter;
  std::vector<fs::path> paths;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--skipped") {
      result.skipped = true;
    } else if (word == "--strict") {
      result.run.strict = true;
    } else if (word == "--help" || word == "-h") {
      result.help = true;
    } else if (word == "--filter") {
      if (++i == words.size()) throw UsageError("--filter needs a text");
      result.filter = words[i];
    } else if (word.starts_with("-")) {
      throw UsageError("unknown option '" + word + "'");
    } else {
      result.paths.emplace_back(word);
    }
  }
  if (result.paths.empty() && !result.help) throw UsageError("no PATH given");
  return result;
}

/// The case files under the paths, folders in order of name.
std::vector<fs::path> collect(const Arguments& arguments) {
  std::vector<fs::path> files;
  for (const fs::path& path : arguments.paths) {
    if (!fs::is_directory(path)) {
      if (!fs::exists(path)) throw UsageError("no such file or folder: " + path.string());
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension() == ".safetensors")
        found.push_back(entry.path());
    }
    if (found.empty()) throw UsageError("no case in folder: " + path.string());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::erase_if(files, [&](const fs::path& file) {
    return file.filename().string().find(arguments.filter) == std::string::npos;
  });
  return files;
}

/// Exit status: 0 all passed or skipped, 1 a case failed, 2 a file could not be read.
int run(const Arguments& arguments) {
  int counts[3] = {0, 0, 0};
  bool unreadable = false;
  for (const fs::path& file : collect(arguments)) {
    try {
      const Report report = run_case(load_case(file), arguments.run);
      ++counts[static_cast<int>(report.outcome)];
      if (report.outcome == Outcome::skipped && !arguments.skipped) continue;
      const char* word = report.outcome == Outcome::failed ? "FAILED" : "skipped";
      for (const std::string& line : report.lines) fmt::print("{} {}\n", word, line);
    } catch (const Error& error) {
      fmt::print(stderr, "conformance: {}\n", error.what());
      unreadable = true;
    }
  }
  fmt::print("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  if (unreadable) return 2;
  return counts[1] > 0 ? 1 : 0;
}

int start(const std::vector<std::string>& words) {
  try {
    const Arguments arguments = parse(words);
    if (!arguments.help) return run(arguments);
    fmt::print("{}", usage);
    return 0;
  } catch (const UsageError& error) {
    fmt::print(stderr, "conformance: {}\n{}", error.what(), usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "conformance: {}\n", error.what());
  }
  return 2;
}

}  // namespace
}  // namespace heed::conformance

int main(int argc, char** argv) {
  return heed::conformance::start(std::vector<std::string>(argv + 1, argv + argc));
}
