#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/text/token_file.h>
#include <heed/text/window_loader.h>

namespace fs = std::filesystem;
using Catch::Contains;
using heed::Generator;
using heed::io::Checksum;
using heed::text::ByteTokenizer;
using heed::text::cut_documents;
using heed::text::TokenFile;
using heed::text::TokenFileWriter;
using heed::text::TokenSpan;
using heed::text::TokenText;
using Ids = std::vector<std::int64_t>;

namespace {

struct File {
  fs::path path = fs::temp_directory_path() / ("heed_token_file_test_" + std::to_string(::getpid()));
  File() { fs::remove(path); }
  ~File() { fs::remove(path); }
  void put(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// A vocabulary of any size.
struct Numbers final : heed::text::Tokenizer {
  explicit Numbers(std::int64_t n) : size(n) {}
  std::int64_t vocab_size() const override { return size; }
  Ids encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const std::int64_t>) const override { return ""; }
  std::string to_json() const override { return "{\"numbers\":" + std::to_string(size) + "}"; }
  std::int64_t size;
};

Ids ids_of(const TokenText& text) {
  Ids ids(static_cast<std::size_t>(text.size()));
  text.copy(0, text.size(), ids.data());
  return ids;
}

void write(const fs::path& path, const heed::text::Tokenizer& tokenizer, const std::vector<Ids>& documents) {
  TokenFileWriter writer(path, tokenizer);
  for (const Ids& document : documents) writer.add_document(document);
  writer.commit();
}

// `bytes` with the checksum made right again.
std::string sealed(std::string bytes) {
  Checksum checksum;
  checksum.add(std::string_view(bytes).substr(0, bytes.size() - 8));
  const std::uint64_t value = checksum.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &value, 8);
  return bytes;
}

}  // namespace

TEST_CASE("pieces read as one text") {
  const std::vector<std::uint16_t> narrow = {1, 2, 3};
  const std::vector<std::uint32_t> wide = {70000, 5};
  const Ids ids = {6, 7, 8};
  const TokenText text({TokenSpan(std::span(narrow)), TokenSpan(), TokenSpan(std::span(wide)),
                        TokenSpan(std::span(ids)).subspan(1, 2)});
  const Ids all = {1, 2, 3, 70000, 5, 7, 8};
  REQUIRE(text.size() == 7);
  for (std::int64_t first = 0; first <= 7; ++first) {
    for (std::int64_t count = 0; first + count <= 7; ++count) {
      Ids part(static_cast<std::size_t>(count));
      text.copy(first, count, part.data());
      CHECK(part == Ids(all.begin() + first, all.begin() + first + count));
    }
  }
  CHECK(TokenText(std::vector<TokenSpan>{}).size() == 0);
}

TEST_CASE("a token file gives back tokens and documents, in two or four bytes") {
  const File file;
  for (const std::int64_t vocab_size : {std::int64_t{65536}, std::int64_t{65537}, std::int64_t{1} << 32}) {
    const Numbers tokenizer(vocab_size);
    write(file.path, tokenizer, {{0, 5, vocab_size - 1}, {}, {7}});
    CHECK(fs::file_size(file.path) == (vocab_size > 65536 ? 40u + 16 : 40u + 8) + 24 + 24);
    const TokenFile read(file.path);
    CHECK(read.vocab_size() == vocab_size);
    CHECK(ids_of(read.tokens()) == Ids{0, 5, vocab_size - 1, 7});
    CHECK(Ids(read.document_ends().begin(), read.document_ends().end()) == Ids{3, 3, 4});
    CHECK(ids_of(cut_documents(read.tokens(), read.document_ends())[2]) == Ids{7});
    read.check_tokenizer(tokenizer);
    CHECK_THROWS_WITH(read.check_tokenizer(Numbers(7)),
                      Contains(file.path.string()) && Contains("another tokenizer") && Contains("7 ids"));
  }
  write(file.path, ByteTokenizer(), {});
  CHECK(TokenFile(file.path).tokens().size() == 0);
}

TEST_CASE("windows of a token file are those of its tokens") {
  const File file;
  Ids ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  write(file.path, ByteTokenizer(), {ids});
  const TokenFile read(file.path);
  Generator one(1), two(1);
  const heed::text::WindowLoader expected(ids, {.context = 8, .batch = 4}, one);
  const heed::text::WindowLoader mapped(read.tokens(), {.context = 8, .batch = 4}, two);
  for (std::int64_t step = 0; step < 5; ++step) {
    CHECK(mapped.batch(step).targets.to_vector<std::int64_t>() ==
          expected.batch(step).targets.to_vector<std::int64_t>());
  }
}

TEST_CASE("an unfinished token file leaves what was there") {
  const File file;
  write(file.path, ByteTokenizer(), {{1}});
  const std::string before = file.bytes();
  {
    TokenFileWriter writer(file.path, ByteTokenizer());
    writer.add_document(Ids{1, 2});
    CHECK_THROWS_AS(writer.add_document(Ids{256}), heed::IndexError);
    CHECK_THROWS_AS(writer.add_document(Ids{-1}), heed::IndexError);
    CHECK(writer.tokens() == 2);
  }
  CHECK(file.bytes() == before);
  CHECK_THROWS_AS(TokenFileWriter(file.path / "x", ByteTokenizer()), heed::IoError);
  CHECK_THROWS_AS(TokenFileWriter(file.path, Numbers((std::int64_t{1} << 32) + 1)), heed::ValueError);
}

TEST_CASE("a broken or hostile token file is refused by name and reason") {
  const File file;
  write(file.path, ByteTokenizer(), {{1, 2, 3}, {4, 5}});
  const std::string whole = file.bytes();
  CHECK(heed::text::is_token_file(file.path));
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    file.put(bytes);
    CAPTURE(reason);
    CHECK_THROWS_AS(TokenFile(file.path), heed::IoError);
    CHECK_THROWS_WITH(TokenFile(file.path), Contains(file.path.string()) && Contains(reason));
  };
  // Every cut and every changed byte is seen.
  for (std::size_t n = 0; n < whole.size(); ++n) {
    refused(whole.substr(0, n), n < 8 ? "is no token file" : "was cut");
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 1);
    refused(changed, "");
  }
  refused(whole + std::string(8, '\0'), "was cut or is damaged");
  const auto with = [&](std::size_t place, std::uint64_t value, std::size_t width) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + place, &value, width);
    return sealed(bytes);
  };
  const std::size_t ends = 40 + 16;
  refused(with(0, 0, 8), "is no token file");
  refused(with(8, 2, 4), "version 2");
  refused(with(12, 4, 4), "4 bytes a token");
  refused(with(16, 0, 8), "vocabulary of 0");
  refused(with(16, UINT64_MAX, 8), "vocabulary");
  refused(with(16, 5, 8), "token 5 at position 4");
  refused(with(whole.size() - 24, UINT64_MAX / 2 + 1, 8), "was cut or is damaged");
  refused(with(whole.size() - 16, UINT64_MAX / 8 + 1, 8), "was cut or is damaged");
  refused(with(ends, 6, 8), "do not end where");
  refused(with(ends, UINT64_MAX, 8), "do not end where");
  refused(with(ends + 8, 4, 8), "do not end where");
  fs::remove(file.path);
  CHECK_FALSE(heed::text::is_token_file(file.path));
  CHECK_THROWS_WITH(TokenFile(file.path), Contains("No such file"));
}
