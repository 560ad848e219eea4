#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/core/random.h>
#include <heed/text/tokenizer.h>
#include <heed/train/report/attention_maps.h>
#include <heed/train/report/html.h>
#include <heed/train/report/report.h>

namespace fs = std::filesystem;
using namespace heed::text;
using namespace heed::train::report;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

ReportData small_report() {
  RunLog run;
  run.header = {.text = "a & b.txt",
                .unit = "character",
                .prompt = "the ",
                .layers = 2,
                .heads = 1,
                .floor = 1.04,
                .even_entropy = 0.5,
                .parts = {"token", "blocks.0"}};
  for (std::int64_t step = 1; step <= 3; ++step) {
    run.steps.push_back({.step = step, .loss = 4.0 / static_cast<double>(step), .lr = 1e-3});
  }
  run.steps[1].measured = {.part_norms = {1, NAN},
                           .heads = {.entropy = {0.25, 0.5},
                                     .saturation = {0, 1},
                                     .undivided_entropy = {0.125, 0},
                                     .undivided_saturation = {1, 1}}};
  run.steps[2].profile = {{"matmul", 1.5, 2.5, 4096}};
  run.evaluations = {{.step = 3, .loss = 1.412, .sample = "</script><script>alert(1)</script>"}};
  ReportData data;
  data.title = "run <1>";
  data.run = run;
  data.settings = R"({"layers": 2, "text": "</script>"})";
  data.attention = {.tokens = {"a", "\u2423", "<"},
                    .layers = 2,
                    .heads = 1,
                    .maps = {{1, 0, 0, 0.5f, 0.5f, 0, 0.9f, NAN, 0.099f}, std::vector<float>(9, 0.25f)}};
  data.marks = {{1, 0, "copies"}};
  return data;
}

// What the page's script reads.
nlohmann::json data_of(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"data\">";
  const auto begin = page.find(start) + start.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// The weights of a map in 4000ths: two digits of base64 each.
std::vector<int> weights_of(const std::string& map) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<int> weights;
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    weights.push_back(static_cast<int>(64 * digits.find(map[i]) + digits.find(map[i + 1])));
  }
  return weights;
}

}  // namespace

TEST_CASE("the loss sentence adds up as printed") {
  CHECK(loss_sentence(1.412, 1.040) == "loss 1.412 = floor 1.040 + 0.372");
  CHECK(loss_sentence(1.4124, 1.0396) == "loss 1.412 = floor 1.040 + 0.372");  // 0.3728 would not add up
  CHECK(loss_sentence(1.0, 1.25) == "loss 1.000 = floor 1.250 - 0.250");
  CHECK(loss_sentence(1.04, 1.0400001) == "loss 1.040 = floor 1.040 + 0.000");
  CHECK(loss_sentence(1.5, std::nullopt) == "loss 1.500");
  CHECK(loss_sentence(std::numeric_limits<double>::quiet_NaN(), 1.0) == "loss nan");
}

TEST_CASE("text cannot break out of the page") {
  CHECK(escape_html("<a href=\"x\">&'</a>") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
  CHECK(escape_html("caf\u00e9\n\t\u20ac") == "caf\u00e9\n\t\u20ac");
  CHECK(escape_html(std::string("a\0b\xFF", 4)) == "a\uFFFDb\uFFFD");
}

TEST_CASE("tokens are visible") {
  CHECK(visible_token(" a\n\t") == "\u2423a\u21B5\u21E5");
  CHECK(visible_token("\xE2\x88") == "\\xE2\\x88");  // part of a character, as a byte tokenizer makes it
  CHECK(visible_token("\u20ac\x01") == "\u20ac\\x01");
  CHECK(visible_token("a\u0085\xFFz") == "a\\xC2\\x85\\xFFz");
}

TEST_CASE("code points that show nothing by themselves are named or carried") {
  // Alone, as a character tokenizer makes them.
  CHECK(visible_token("\u200D") == "\u2039ZWJ\u203A");
  CHECK(visible_token("\uFE0F") == "\u2039VS16\u203A");
  CHECK(visible_token("\U000E0101") == "\u2039VS18\u203A");
  CHECK(visible_token("\u00A0") == "\u2039NBSP\u203A");
  CHECK(visible_token("\uFEFFa") == "\u2039BOM\u203Aa");
  CHECK(visible_token("\u2003\u202E\u3000") == "\u2039U+2003\u203A\u2039U+202E\u203A\u2039U+3000\u203A");
  CHECK(visible_token("\u0301") == "\u25CC\u0301");
  CHECK(visible_token("\u093F") == "\u25CC\u093F");
  CHECK(visible_token("\xE2\u0301") == "\\xE2\u25CC\u0301");
  // With what they belong to.
  const std::string coder = "\U0001F469\U0001F3FD\u200D\U0001F4BB";
  CHECK(visible_token(coder) == coder);
  CHECK(visible_token("\u2764\uFE0F\u200D\U0001F525") == "\u2764\uFE0F\u200D\U0001F525");
  CHECK(visible_token("1\uFE0F\u20E3") == "1\uFE0F\u20E3");  // a keycap
  CHECK(visible_token("a\uFE0F \uFE0F") == "a\u2039VS16\u203A\u2423\u2039VS16\u203A");
  CHECK(visible_token("e\u0301\u0323") == "e\u0301\u0323");
  CHECK(visible_token(" \u0301") == "\u2423\u0301");
  // A joiner that joins nothing.
  CHECK(visible_token("\U0001F469\u200D") == "\U0001F469\u2039ZWJ\u203A");
  CHECK(visible_token("\u200D\U0001F4BB") == "\u2039ZWJ\u203A\U0001F4BB");
  CHECK(visible_token("a\u200Db") == "a\u2039ZWJ\u203Ab");
  CHECK(visible_token("\u00e9\u200D\u200D\u00e9") == "\u00e9\u2039ZWJ\u203A\u2039ZWJ\u203A\u00e9");
  // The marks' first and last, and their neighbours.
  for (const char* text : {"\u02FF", "\u0370", "\u0903\u0904", "\U000E01F0"}) {
    CAPTURE(text);
    CHECK(visible_token(text).find("\u2039") == std::string::npos);
  }
  CHECK(visible_token("\u0300") == "\u25CC\u0300");
  CHECK(visible_token("\u036F") == "\u25CC\u036F");
  CHECK(visible_token("\u0370") == "\u0370");
}

TEST_CASE("the report holds all it was given and needs nothing else") {
  const auto page = render_report(small_report());
  const auto data = data_of(page);
  CHECK(data["result"] == "loss 1.412 = floor 1.040 + 0.372 nats per character on the validation text");
  CHECK(data["title"] == "run <1>");
  CHECK(data["settings"]["text"] == "</script>");
  const auto& run = data["run"];
  CHECK(run["curves"]["loss"].dump() == "[[1.0,4.0],[2.0,2.0],[3.0,1.3333333]]");
  CHECK(run["floor"] == 1.04);
  CHECK(run["evaluations"][0]["sample"] == "</script><script>alert(1)</script>");
  CHECK(run["measured"].size() == 1);
  CHECK(run["measured"][0]["step"] == 2);
  CHECK(run["measured"][0]["part_norms"].dump() == "[1.0,null]");
  CHECK(run["measured"][0]["undivided_entropy"].dump() == "[0.125,0.0]");
  CHECK(run["profile"][0]["op"] == "matmul");
  CHECK(data["attention"]["tokens"][1] == "\u2423");
  CHECK(data["attention"]["causal"] == false);  // of the second map
  CHECK(weights_of(data["attention"]["maps"][0]) ==
        std::vector<int>{4000, 0, 0, 2000, 2000, 0, 3600, 4095, 396});
  CHECK(weights_of(data["attention"]["maps"][1]) == std::vector<int>(9, 1000));
  CHECK(data["marks"].dump() == "[[1,\"copies\"]]");
  CHECK(contains(page, "<title>run &lt;1&gt;</title>"));
  CHECK(contains(page, "default-src 'none'"));
  CHECK(contains(page, "prefers-color-scheme: dark"));
  CHECK(count(page, "</script>") == 2);  // the data's and the program's
  for (const auto* network : {"https:", " src=", " href=", "url(", "@import", "fetch(", "XMLHttpRequest"}) {
    CAPTURE(network);
    CHECK_FALSE(contains(page, network));
  }
}

TEST_CASE("of causal maps only the keys up to the query are written") {
  auto data = small_report();
  data.attention->maps = {{1, 0, 0, 0.25f, 0.75f, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0, NAN, -1, 2}};
  auto attention = data_of(render_report(data))["attention"];
  CHECK(attention["causal"] == true);
  CHECK(weights_of(attention["maps"][0]) == std::vector<int>{4000, 1000, 3000, 0, 4000, 0});
  CHECK(weights_of(attention["maps"][1]) == std::vector<int>{4000, 0, 4000, 4095, 0, 4000});
  data.attention->maps[1][2] = NAN;
  attention = data_of(render_report(data))["attention"];
  CHECK(attention["causal"] == false);
  CHECK(weights_of(attention["maps"][1]) == std::vector<int>{4000, 0, 4095, 0, 4000, 0, 4095, 0, 4000});
}

TEST_CASE("a report tells how large the run was, how long it took and where it comes from") {
  auto data = small_report();
  CHECK(data_of(render_report(data))["run"]["facts"].dump() == R"({"steps":3})");
  RunHeader& header = data.run->header;
  header.parameters = 803072;
  header.tokens = 1115394;
  header.vocabulary = 65;
  header.tokens_per_step = 768;
  header.version = "0.3.0";
  header.date = "2025-01-31 09:30 UTC";
  for (StepRecord& step : data.run->steps) step.milliseconds = 1500;
  data.run->steps[0].milliseconds = NAN;
  const auto facts = nlohmann::json::parse(R"({"parameters": 803072, "tokens": 1115394, "vocabulary": 65,
    "steps": 3, "tokens_seen": 2304, "seconds": 3.0, "date": "2025-01-31 09:30 UTC", "version": "0.3.0"})");
  CHECK(data_of(render_report(data))["run"]["facts"] == facts);
  header.tokens_per_step = INT64_MAX;  // a log may say anything
  CHECK_FALSE(data_of(render_report(data))["run"]["facts"].contains("tokens_seen"));
}

TEST_CASE("settings that did not apply are not in the report") {
  const std::string settings = R"({"embd": 0, "beta": null, "data": [], "init": "", "packed": false})";
  CHECK(data_of(render_report({.settings = settings}))["settings"].dump() == R"({"embd":0,"packed":false})");
}

TEST_CASE("a long run is thinned") {
  auto data = small_report();
  data.run->steps.assign(100000, {});
  for (std::size_t i = 0; i < 100000; ++i) {
    StepRecord& step = data.run->steps[i];
    step.step = static_cast<std::int64_t>(i) + 1;
    step.loss = i < 50000 ? 3 : NAN;
    step.measured = Measurement{};
  }
  data.run->evaluations.assign(5000, {.step = 7, .loss = 1});
  data.run->evaluations.back().step = 8;
  const auto run = data_of(render_report(data))["run"];
  REQUIRE(run["curves"]["loss"].size() == 1000);
  CHECK(run["curves"]["loss"][0].dump() == "[50.5,3.0]");  // the mean of the first hundred
  CHECK(run["curves"]["loss"][999][1].is_null());
  CHECK(run["measured"].size() == 200);
  CHECK(run["measured"][199]["step"] == 100000);
  CHECK(run["evaluations"].size() == 200);
  CHECK(run["evaluations"][199]["step"] == 8);
}

TEST_CASE("an empty report says only what it knows") {
  const auto data = data_of(render_report({.settings = "no JSON"}));
  CHECK(data.size() == 2);  // title and no marks
  RunLog empty;
  const auto run = data_of(render_report({.run = empty}));
  CHECK_FALSE(run.contains("result"));
  CHECK(run["run"]["floor"].is_null());
  CHECK(run["run"]["curves"]["loss"].empty());
}

TEST_CASE("a log reads back what was written, and nothing else") {
  const ReportData data = small_report();
  RunLog read;
  CHECK(add_line(read, to_json_line(log_line(data.run->header))));
  for (const StepRecord& step : data.run->steps) CHECK(add_line(read, to_json_line(log_line(step))));
  CHECK(add_line(read, to_json_line(log_line(data.run->evaluations[0]))));
  CHECK(render_report({.run = read}) == render_report({.run = data.run}));
  // A header of an earlier heed, without the version, the date and the tokens of a step; and one with them.
  CHECK_FALSE(contains(to_json_line(log_line(data.run->header)), "\"version\""));
  CHECK(read.header.version.empty());
  CHECK(read.header.tokens_per_step == 0);
  RunHeader header = data.run->header;
  header.version = "0.3.0";
  header.date = "2025-01-31 09:30 UTC";
  header.tokens_per_step = 768;
  REQUIRE(add_line(read, to_json_line(log_line(header))));
  CHECK(read.header.version == "0.3.0");
  CHECK(read.header.date == "2025-01-31 09:30 UTC");
  CHECK(read.header.tokens_per_step == 768);
  const std::string later = to_json_line(log_line(StepRecord{.step = 5}));
  CHECK_FALSE(add_line(read, later, 4));
  for (const char* foreign : {"", "{\"step\": 1", "[]", "{}", "{\"step\": 1}", "{\"step\": -1, \"loss\": 1}",
                              "{\"step\": \"1\", \"loss\": 1}", "{\"step\": 1.5, \"loss\": 1}",
                              "{\"step\": 1, \"loss\": 1, \"loss\": 2}"}) {
    CAPTURE(foreign);
    CHECK_FALSE(add_line(read, foreign));
  }
  CHECK_FALSE(add_line(read, "{\"step\": 1, \"loss\": " + std::string(1'000'000, '[')));
  CHECK(read.steps.size() == 3);
  // Of the wrong kind: as if it were not there.
  REQUIRE(
      add_line(read, R"({"step": 4, "loss": "x", "part_norms": [1, "y"], "entropy": 3, "ops": ["a", 2]})"));
  const StepRecord& odd = read.steps.back();
  CHECK(std::isnan(odd.loss));
  CHECK(std::isnan(odd.measured->part_norms[1]));
  CHECK(odd.measured->heads.entropy.empty());
  CHECK(odd.profile[1].op.empty());
  CHECK(std::isnan(odd.profile[0].saved_bytes));
  CHECK_THROWS_AS(read_run_log("/no/such/log.jsonl"), heed::IoError);
  const fs::path large =
      fs::temp_directory_path() / ("heed_log_test_" + std::to_string(::getpid()) + ".jsonl");
  std::ofstream(large).flush();
  fs::resize_file(large, (std::uint64_t{1} << 30) + 1);  // a hole: it takes no room
  CHECK_THROWS_AS(read_run_log(large), heed::IoError);
  fs::remove(large);
}

TEST_CASE("maps of a model sum to one, are causal and can be drawn") {
  const std::string text = "ab\nba";
  const CharTokenizer tokenizer(text);
  heed::Generator random(1);
  const heed::nn::CausalLM model(
      {.vocab_size = 3, .context = 5, .num_layers = 2, .num_heads = 2, .embed_dim = 8}, random);
  AttentionMaps maps = attention_maps(model, tokenizer, tokenizer.encode(text));
  CHECK(maps.tokens == std::vector<std::string>{"a", "b", "\u21b5", "b", "a"});
  CHECK(maps.layers == 2);
  CHECK(maps.heads == 2);
  REQUIRE(maps.maps.size() == 4);
  for (std::size_t row = 0; row < 5; ++row) {
    float sum = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      sum += maps.maps[3][row * 5 + key];
      if (key > row) CHECK(maps.maps[3][row * 5 + key] == 0);
    }
    CHECK(sum == Approx(1).margin(1e-6));  // rounding of five float weights
  }
  CHECK_THROWS_AS(attention_maps(model, tokenizer, {}), heed::ValueError);
  maps.tokens = {"a", "\u2423longer than ten", "x"};
  maps.maps[2] = {1, 0, 0, 0.45f, 0.55f, 0, 0.04f, 0.1f, NAN};
  CHECK(draw_map(maps, 1, 0) ==
        "         a \u2588\n"
        "\u2423longer th \u2593\u2593\n"
        "         x  \u2591!\n");
  CHECK_THROWS_AS(draw_map(maps, 2, 0), heed::ValueError);
  CHECK_THROWS_AS(draw_map(maps, 0, -1), heed::ValueError);
}

TEST_CASE("a report is written whole or not at all") {
  const fs::path path =
      fs::temp_directory_path() / ("heed_report_test_" + std::to_string(::getpid()) + ".html");
  write_report(path, small_report());
  std::ifstream file(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == render_report(small_report()));
  auto wrong = small_report();
  wrong.attention->tokens.pop_back();
  CHECK_THROWS_AS(write_report(path, wrong), heed::ShapeError);
  CHECK(fs::file_size(path) == render_report(small_report()).size());
  fs::remove(path);
  CHECK_THROWS_AS(write_report("/no/such/report.html", small_report()), heed::IoError);
}
