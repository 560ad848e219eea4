#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/io/read_file.h>

namespace fs = std::filesystem;
namespace io = heed::io;
using Catch::Contains;

namespace {

struct File {
  fs::path path = fs::temp_directory_path() / ("heed_read_file_test_" + std::to_string(::getpid()));
  File() { fs::remove_all(path); }
  ~File() { fs::remove_all(path); }
  const fs::path& put(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

}  // namespace

TEST_CASE("a file is read byte for byte") {
  const File file;
  for (const std::string& bytes :
       {std::string(), std::string("a\0b\xFF\r\n", 6), std::string(300'000, 'x')}) {
    CHECK(io::read_file(file.put(bytes)) == bytes);
    CHECK(io::file_checksum(file.path) == io::text_checksum(bytes));
  }
  CHECK(io::text_checksum("") == "cbf29ce484222325");  // FNV-1a's published values
  CHECK(io::text_checksum("a") == "af63dc4c8601ec8c");
  CHECK(io::text_checksum("foobar") == "85944171f73967e8");
}

TEST_CASE("what is no readable file is refused by name") {
  const File file;
  CHECK_THROWS_WITH(io::read_file(file.path), Contains(file.path.string()) && Contains("No such file"));
  CHECK_THROWS_WITH(io::read_file("/tmp"), Contains("not a regular file"));
  CHECK_THROWS_WITH(io::read_file(file.put("12345"), 4), Contains("has 5 bytes, more than 4"));
  CHECK(io::read_file(file.path, 5) == "12345");
  fs::remove(file.path);
  REQUIRE(::mkfifo(file.path.c_str(), 0600) == 0);  // nobody writes to it: reading must not wait
  CHECK_THROWS_WITH(io::read_file(file.path), Contains("not a regular file"));
}

TEST_CASE("only one JSON object, not too deep, without doubled names") {
  const File file;
  const auto refused = [&](const std::string& text, const std::string& part) {
    CAPTURE(text.substr(0, 40));
    CHECK_THROWS_WITH(io::read_json_object(file.put(text)), Contains(part) && Contains(file.path.string()));
    CHECK_THROWS_AS(io::read_json_object(file.path), heed::IoError);
  };
  const std::string good = R"({"a": [1, {"b": null}, "x"], "c": {"a": 1.5e3, "b": false}})";
  CHECK(io::read_json_object(file.put(good)) == good);
  for (std::size_t length = 0; length < good.size(); ++length) refused(good.substr(0, length), "JSON");
  for (const char* text : {"[]", "1", "\"x\"", "null"}) refused(text, "no JSON object");
  refused("{} {}", "at byte 4");
  refused("{\"a\": \"\xFF\"}", "UTF-8");
  refused(R"({"a": 1e999})", "at byte");
  refused(R"({"a": {"b": 1, "b": 2}})", "'b' twice");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  refused(deep, "nested deeper than 16");
  CHECK_THROWS_WITH(io::read_json_object(file.put(good), {.bytes = 10}), Contains("more than 10"));
  CHECK_THROWS_WITH(io::read_json_object(file.put(good), {.depth = 2}), Contains("deeper than 2"));
}
