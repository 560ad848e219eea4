#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/text/token_file.h>
#include <heed/text/token_shard.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::text::TokenShard;
using Ids = std::vector<std::int64_t>;

namespace {

struct File {
  fs::path path =
      fs::temp_directory_path() / ("heed_token_shard_test_" + std::to_string(::getpid()) + ".bin");
  ~File() { fs::remove(path); }
  void put(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  void put(const Ids& ids, int width) const {
    std::string bytes;
    for (const std::int64_t id : ids) {
      for (int i = 0; i < width; ++i) bytes += static_cast<char>(id >> (8 * i) & 255);
    }
    put(bytes);
  }
};

Ids ids_of(const TokenShard& shard) {
  Ids ids(static_cast<std::size_t>(shard.tokens().size()));
  shard.tokens().copy(ids.data());
  return ids;
}

}  // namespace

TEST_CASE("a shard is as wide as the rule says, or as it is told", "[fault-34]") {
  const File file;
  const Ids narrow = {50256, 13, 65535, 0, 1};
  file.put(narrow, 2);
  CHECK(ids_of(TokenShard(file.path, 65536)) == narrow);
  CHECK(ids_of(TokenShard(file.path, 65537, 2)) == narrow);
  const Ids wide = {50256, 65536, 100276, 4294967295};
  file.put(wide, 4);
  CHECK(ids_of(TokenShard(file.path, std::int64_t{1} << 32)) == wide);
  file.put(Ids{7, 9}, 4);
  CHECK(ids_of(TokenShard(file.path, 10, 4)) == Ids{7, 9});
  CHECK(ids_of(TokenShard(file.path, 10, 2)) == Ids{7, 0, 9, 0});
  CHECK(ids_of(TokenShard(file.path, 65537)) == Ids{7, 9});
}

TEST_CASE("a shard of another width, size or vocabulary is refused, with the first id and its place",
          "[fault-34]") {
  const File file;
  const std::string name = "'" + file.path.string() + "' ";
  file.put(Ids{5, 50257, 50256, 60000}, 2);
  CHECK_THROWS_WITH(
      TokenShard(file.path, 50257),
      "read tokens: " + name +
          "has token 50257 at position 1, read as numbers of 2 bytes; expected ids 0 to 50256 of the "
          "tokenizer that it was written with");
  CHECK_THROWS_WITH(TokenShard(file.path, 100277), Contains("at position 0, read as numbers of 4 bytes"));
  CHECK_THROWS_AS(TokenShard(file.path, 50257), heed::IoError);
  file.put("abc");
  CHECK_THROWS_WITH(TokenShard(file.path, 65536), Contains("has 3 bytes, which are no whole tokens of 2"));
  file.put("abcdef");
  CHECK_THROWS_WITH(TokenShard(file.path, 65537), Contains("has 6 bytes, which are no whole tokens of 4"));
  file.put("");
  CHECK_THROWS_WITH(TokenShard(file.path, 10), Contains("holds no token"));
  file.put(Ids{5, 7, 11}, 4);
  CHECK_THROWS_WITH(TokenShard(file.path, 50257),
                    Contains("0 in every second place, as tokens of 4 bytes would"));
  file.put(Ids{5, 0, 7}, 2);  // an odd number of them is of no tokens of 4 bytes
  CHECK(ids_of(TokenShard(file.path, 10)) == Ids{5, 0, 7});
  for (const std::int64_t width : {-1, 1, 3, 8})
    CHECK_THROWS_AS(TokenShard(file.path, 10, width), heed::ValueError);
  for (const std::int64_t size : {std::int64_t{0}, INT64_MIN, INT64_MAX, (std::int64_t{1} << 32) + 1}) {
    CHECK_THROWS_AS(TokenShard(file.path, size), heed::ValueError);
  }
  CHECK_THROWS_WITH(TokenShard(file.path.string() + "x", 10), Contains("No such file"));
}

TEST_CASE("a shard is told from a token file, and by its name from a text", "[fault-34]") {
  const File file;
  file.put(Ids{1, 2}, 2);
  CHECK(heed::text::is_token_shard(file.path));
  CHECK_FALSE(heed::text::is_token_shard(file.path.parent_path()));
  CHECK_FALSE(heed::text::is_token_shard("absent.bin"));
  const heed::text::ByteTokenizer tokenizer;
  heed::text::TokenFileWriter writer(file.path, tokenizer);
  writer.add_document(tokenizer.encode("some"));
  writer.commit();
  CHECK_FALSE(heed::text::is_token_shard(file.path));
}
