#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/text/text_corpus.h>

namespace fs = std::filesystem;
namespace text = heed::text;
using Catch::Contains;
using text::TokenSpan;
using Ids = std::vector<std::int64_t>;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("heed_text_corpus_test_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::string put(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

std::vector<std::string> files_of(const std::vector<std::string>& paths) { return text::list_files(paths); }

std::vector<Ids> ids_of(const std::vector<TokenSpan>& documents) {
  std::vector<Ids> ids;
  for (const TokenSpan& document : documents) {
    ids.emplace_back(static_cast<std::size_t>(document.size()));
    document.copy(ids.back().data());
  }
  return ids;
}

std::int64_t total(const std::vector<TokenSpan>& documents) {
  return std::accumulate(documents.begin(), documents.end(), std::int64_t{0},
                         [](std::int64_t sum, const TokenSpan& document) { return sum + document.size(); });
}

}  // namespace

TEST_CASE("a folder is its files in the order of their paths, hidden ones left out") {
  const Folder folder;
  const std::string b = folder.put("b.txt", "two");
  const std::string z = folder.put("a/z.txt", "one");
  const std::string upper = folder.put("B.txt", "");
  folder.put(".hidden", "no");
  folder.put(".git/x", "no");
  fs::create_directory_symlink(folder.path, folder.path / "loop");
  CHECK(files_of({folder.path}) == std::vector<std::string>{upper, z, b});
  CHECK(files_of({b, folder.path / "a", b}) == std::vector<std::string>{b, z, b});
  const text::TextCorpus corpus = text::read_corpus(files_of({folder.path}), text::TextKind::utf8);
  CHECK(corpus.text == "onetwo");
  REQUIRE(corpus.ends == std::vector<std::size_t>{0, 3, 6});
  CHECK(corpus.document(0).empty());
  CHECK(corpus.document(2) == "two");
  fs::create_directory(folder.path / "empty");
  CHECK_THROWS_WITH(files_of({folder.path / "empty"}), Contains("empty") && Contains("holds no file"));
  CHECK_THROWS_WITH(files_of({folder.path / "absent"}), Contains("absent") && Contains("does not exist"));
}

TEST_CASE("a file is UTF-8, or bytes of any kind") {
  const Folder folder;
  const std::vector<std::string> files = {folder.put("good", "caf\u00e9"), folder.put("bad", "caf\xE9\n")};
  CHECK_THROWS_WITH(text::read_corpus(files, text::TextKind::utf8),
                    Contains("bad") && Contains("not UTF-8") && Contains("0xE9 at offset 3"));
  CHECK(text::read_corpus(files, text::TextKind::bytes).text ==
        "caf\u00e9"
        "caf\xE9\n");
}

TEST_CASE("a byte-order mark at the start of a file is no part of its text, and elsewhere a character",
          "[fault-49]") {
  const Folder folder;
  const std::string mark = "\xEF\xBB\xBF";
  const std::vector<std::string> files = {folder.put("marked", mark + "one"), folder.put("plain", "two"),
                                          folder.put("twice", mark + mark + "x" + mark),
                                          folder.put("alone", mark), folder.put("torn", "\xEF\xBB")};
  const text::TextCorpus corpus = text::read_corpus(files, text::TextKind::bytes);
  CHECK(corpus.document(0) == "one");
  CHECK(corpus.document(1) == "two");
  CHECK(corpus.document(2) == mark + "x" + mark);
  CHECK(corpus.document(3).empty());
  CHECK(corpus.document(4) == "\xEF\xBB");
  CHECK(corpus.marked == std::vector<std::string>{files[0], files[2], files[3]});
  const std::vector<std::string> bad = {folder.put("bad", mark + "caf\xE9\n")};
  CHECK_THROWS_WITH(text::read_corpus(bad, text::TextKind::utf8), Contains("0xE9 at offset 6"));
}

TEST_CASE("the tail of a text validates") {
  Ids ids(25);
  std::iota(ids.begin(), ids.end(), 0);
  const TokenSpan text{std::span<const std::int64_t>(ids)};
  const text::TokenSplit split =
      text::split_tail({text.subspan(0, 20), text.subspan(20, 0), text.subspan(20, 5)});
  CHECK(ids_of(split.training) == std::vector<Ids>{Ids(ids.begin(), ids.begin() + 20), {20, 21}});
  CHECK(ids_of(split.validation) == std::vector<Ids>{{22, 23, 24}});
  CHECK(text::split_tail({}).validation.empty());
}

TEST_CASE("whole documents validate, the same ones for a seed") {
  Ids ids(1000);
  std::iota(ids.begin(), ids.end(), 0);
  const TokenSpan text{std::span<const std::int64_t>(ids)};
  std::vector<TokenSpan> documents;
  for (std::int64_t i = 0; i < 50; ++i) documents.push_back(text.subspan(20 * i, i % 7 == 0 ? 0 : 20));
  const text::TokenSplit split = text::split_documents(documents, 1);
  const auto training = ids_of(split.training);
  const auto validation = ids_of(split.validation);
  CHECK(std::is_sorted(training.begin(), training.end()));
  CHECK(std::is_sorted(validation.begin(), validation.end()));
  CHECK(total(split.training) + total(split.validation) == total(documents));
  CHECK(total(split.validation) >= total(documents) / 10);
  CHECK(total(split.validation) < total(documents) / 10 + 20);
  CHECK(ids_of(text::split_documents(documents, 1).validation) == validation);
  CHECK(ids_of(text::split_documents(documents, 2).validation) != validation);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {  // whatever comes first, both sides have something
    const auto two = text::split_documents({text.subspan(0, 990), text.subspan(990, 10)}, seed);
    CHECK(total(two.training) == 990);
    CHECK(total(two.validation) == 10);
  }
  CHECK_THROWS_WITH(text::split_documents({text, text.subspan(0, 0)}, 1), Contains("1; expected 2 or more"));
}
