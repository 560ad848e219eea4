#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/report/jsonl_log.h>

namespace fs = std::filesystem;
using namespace heed::train::report;

TEST_CASE("fields keep their order, type and exact value") {
  CHECK(to_json_line(
            {{"step", std::int64_t{12}}, {"loss", 0.1}, {"final", true}, {"text", "a \"b\"\n\u20ac"}}) ==
        "{\"step\":12,\"loss\":0.1,\"final\":true,\"text\":\"a \\\"b\\\"\\n\u20ac\"}");
  CHECK(to_json_line({}) == "{}");
  CHECK(to_json_line({{"big", std::int64_t{9007199254740993}}}) == "{\"big\":9007199254740993}");
}

TEST_CASE("what JSON cannot say is null or a replacement character") {
  CHECK(to_json_line({{"loss", std::numeric_limits<double>::quiet_NaN()}, {"norm", HUGE_VAL}}) ==
        "{\"loss\":null,\"norm\":null}");
  CHECK(to_json_line({{"text", "a\xFF"}}) == "{\"text\":\"a\uFFFD\"}");
}

TEST_CASE("lines are appended and there at once") {
  const fs::path path = fs::temp_directory_path() / ("heed_jsonl_log_test_" + std::to_string(::getpid()));
  fs::remove(path);
  const auto contents = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  {
    JsonlLog log(path);
    log.write({{"step", std::int64_t{1}}});
    CHECK(contents() == "{\"step\":1}\n");
    log.write({{"step", std::int64_t{2}}});
  }
  JsonlLog(path).write({{"step", std::int64_t{3}}});
  CHECK(contents() == "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  fs::remove(path);
}

TEST_CASE("lines that a full disk did not take wait, and the file has whole lines alone", "[fault-35]") {
  const fs::path path = fs::temp_directory_path() / ("heed_jsonl_log_test_" + std::to_string(::getpid()));
  fs::remove(path);
  const auto contents = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full = {25, before.rlim_max};  // two lines and a half
  JsonlLog log(path);
  ::setrlimit(RLIMIT_FSIZE, &full);
  int refused = 0;
  for (std::int64_t step = 1; step <= 4; ++step) {
    try {
      log.write({{"step", step}});
    } catch (const heed::IoError&) {
      ++refused;
    }
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(refused == 2);
  const std::string two = "{\"step\":1}\n{\"step\":2}\n";
  CHECK(contents() == two);
  log.catch_up();
  CHECK(contents() == two + "{\"step\":3}\n{\"step\":4}\n");
  log.catch_up();
  log.write({{"step", std::int64_t{5}}});
  CHECK(contents() == two + "{\"step\":3}\n{\"step\":4}\n{\"step\":5}\n");
  fs::remove(path);
}

TEST_CASE("a log that cannot be written is an error that names it") {
  CHECK_THROWS_WITH(JsonlLog("/no/such/log.jsonl"),
                    "JsonlLog: cannot open '/no/such/log.jsonl', No such file or directory");
  JsonlLog full("/dev/full");
  CHECK_THROWS_WITH(full.write({{"step", std::int64_t{1}}}),
                    "JsonlLog: cannot write '/dev/full', No space left on device");
  CHECK_THROWS_AS(JsonlLog(fs::temp_directory_path()), heed::IoError);
}
