#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/read_file.h>

namespace heed::io {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  fail<IoError>("read", fmt::format("'{}': {}", path, reason));
}

// A regular file open for reading. O_NONBLOCK: opening a pipe must not wait for its other end.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : path_(path), number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (number_ < 0 || ::fstat(number_, &status) != 0) fail_with_errno();
    if (!S_ISREG(status.st_mode)) {
      ::close(number_);
      fail_reading(path, "not a regular file");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~OpenFile() { ::close(number_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t size() const { return size_; }

  // Returns how many bytes were read; 0 at the end.
  std::size_t read(char* bytes, std::size_t count) {
    for (;;) {
      const ssize_t got = ::read(number_, bytes, count);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail_with_errno();
    }
  }

 private:
  [[noreturn]] void fail_with_errno() { fail_reading(path_, std::generic_category().message(errno)); }

  const std::string& path_;
  int number_;
  std::uint64_t size_ = 0;
};

// Parses JSON without building anything; `problem` says what is wrong with it.
class JsonInspector final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonInspector(int most_depth) : most_depth_(most_depth) {}
  std::string problem;

  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(number_integer_t) override { return scalar(); }
  bool number_unsigned(number_unsigned_t) override { return scalar(); }
  bool number_float(number_float_t, const string_t&) override { return scalar(); }
  bool string(string_t&) override { return scalar(); }
  bool binary(binary_t&) override { return scalar(); }
  bool start_object(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    return refuse(fmt::format("has the name '{}' twice", name));
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int out_of_range = 406;
    if (error.id == out_of_range) return refuse(fmt::format("has a number out of range, at byte {}", byte));
    return refuse(fmt::format("is not JSON in UTF-8, at byte {}", byte));
  }

 private:
  bool refuse(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool scalar() { return !names_.empty() || refuse("is no JSON object"); }
  bool open(bool object) {
    if (names_.empty() && !object) return refuse("is no JSON object");
    if (static_cast<int>(names_.size()) >= most_depth_) {
      return refuse(fmt::format("is nested deeper than {}", most_depth_));
    }
    names_.emplace_back();
    return true;
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  int most_depth_;
  std::vector<std::set<std::string>> names_;  // seen so far in each open object; empty for an array
};

}  // namespace

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  OpenFile file(path);
  if (file.size() > most_bytes) {
    fail_reading(path, fmt::format("has {} bytes, more than {}", file.size(), most_bytes));
  }
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t got = file.read(bytes.data() + done, bytes.size() - done);
    if (got == 0) fail_reading(path, "became shorter while it was read");
    done += got;
  }
  refuse_lfs_pointer(path, bytes);
  return bytes;
}

void refuse_lfs_pointer(const std::string& path, std::string_view bytes) {
  constexpr std::size_t most_bytes = 1024;  // the specification's: less than that
  if (bytes.size() >= most_bytes || !bytes.starts_with("version https://git-lfs.github.com/spec/")) return;
  fail<IoError>("read", fmt::format("'{}' is a pointer of Git LFS, not the file itself", path), {},
                "the file, which `git lfs pull` in its folder fetches");
}

std::string json_object_problem(std::string_view text, int most_depth) {
  // The JSON library takes a NUL for the end of the text. Valid JSON has none: within strings it
  // is written \\u0000.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) return fmt::format("has a NUL, at byte {}", nul + 1);
  JsonInspector inspector(most_depth);
  return Json::sax_parse(text, &inspector) ? "" : inspector.problem;
}

std::string read_json_object(const std::string& path, const JsonLimits& limits) {
  std::string text = read_file(path, limits.bytes);
  const std::string problem = json_object_problem(text, limits.depth);
  if (!problem.empty()) fail_reading(path, problem);
  return text;
}

std::string file_checksum(const std::string& path) {
  OpenFile file(path);
  constexpr std::size_t block_bytes = std::size_t{1} << 16;
  std::vector<char> block(block_bytes);
  Checksum checksum;
  while (const std::size_t got = file.read(block.data(), block_bytes)) checksum.add({block.data(), got});
  return fmt::format("{:016x}", checksum.value());
}

std::string text_checksum(std::string_view text) {
  Checksum checksum;
  checksum.add(text);
  return fmt::format("{:016x}", checksum.value());
}

void Checksum::add(std::string_view bytes) {
  constexpr std::uint64_t prime = 0x100000001b3u;
  for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * prime;
}

}  // namespace heed::io
