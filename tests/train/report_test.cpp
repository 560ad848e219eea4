#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <heed/core/error.h>
#include <heed/train/heat_map.h>
#include <heed/train/html.h>
#include <heed/train/line_chart.h>
#include <heed/train/report.h>

namespace fs = std::filesystem;
using namespace heed::train;

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
  ReportData data;
  data.title = "run <1>";
  data.configuration = {{"layers", "2"}, {"text", "a & b.txt"}};
  data.train_loss = {{1, 4.0}, {2, 2.0}, {3, 1.5}};
  data.validation_loss = {{3, 1.6}};
  data.learning_rate = {{0, 1e-3}, {1, 5e-4}};
  data.floor = 1.04;
  data.loss = 1.412;
  data.prompt = "the ";
  data.sample = "<script>alert(1)</script>";
  data.tokens = {"a", " ", "<"};
  data.attention = {{0, 0, {1, 0, 0, 0.5f, 0.5f, 0, 0.9f, 0.001f, 0.099f}},
                    {1, 0, std::vector<float>(9, 0.25f)}};
  return data;
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
  CHECK(visible_token("\xE2\x82") == "xE2x82");  // part of a character, as a byte tokenizer makes it
  CHECK(visible_token("\u20ac\x01") == "\u20acx01");
}

TEST_CASE("axis ticks are round and cover the range") {
  CHECK(axis_ticks(0, 4.2, 5) == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(axis_ticks(0, 2000, 4) == std::vector<double>{0, 500, 1000, 1500, 2000});
  for (const auto& [low, high] :
       {std::pair{0.35, 3.4}, {-7.0, 12.0}, {1e-4, 1e-3}, {5.0, 5.0}, {0.0, 0.0}, {-3.0, -3.0}}) {
    CAPTURE(low, high);
    const auto ticks = axis_ticks(low, high, 5);
    REQUIRE(ticks.size() >= 2);
    CHECK(ticks.size() <= 12);
    CHECK(ticks.front() <= low);
    CHECK(ticks.back() >= high * (1 - 1e-12));  // a tick is a rounded multiple
  }
}

TEST_CASE("a chart draws its curves, its level and its axes") {
  LineChart chart{.label = "L", .x_title = "step", .y_title = "loss"};
  chart.curves = {{"training", "train", {{0, 2}, {1, 1}, {2, NAN}, {3, 1}, {4, 0.5}}}};
  chart.level = 0.25;
  chart.level_name = "floor";
  const auto svg = render_line_chart(chart, 500, 300);
  CHECK(contains(svg, ">step</text>"));
  CHECK(contains(svg, ">loss</text>"));
  CHECK(contains(svg, "curve level"));
  CHECK(contains(svg, ">floor</text>"));
  const auto start = svg.find("curve train");
  REQUIRE(start != std::string::npos);
  const auto path = svg.substr(start, svg.find("/>", start) - start);
  CHECK(count(path, "M") == 2);  // the NaN is a gap
  CHECK(count(path, "L") == 2);
  CHECK_FALSE(contains(svg, "nan"));
}

TEST_CASE("odd curves stay drawable") {
  LineChart chart{.label = "L", .x_title = "x", .y_title = "y"};
  CHECK(contains(render_line_chart(chart, 500, 300), "No points were recorded"));
  chart.curves = {{"one", "train", {{7, 3}}}};
  const auto single = render_line_chart(chart, 500, 300);
  CHECK(contains(single, "<circle"));
  CHECK_FALSE(contains(single, "nan"));
  CHECK_FALSE(contains(single, "inf"));
  chart.curves[0].points.assign(100000, {1, 1});
  for (std::size_t i = 0; i < 100000; ++i) chart.curves[0].points[i].step = static_cast<double>(i);
  CHECK(render_line_chart(chart, 500, 300).size() < 10000);  // at most 250 points of some 12 bytes
}

TEST_CASE("a heat map draws the weights that show") {
  const std::vector<std::string> tokens = {"a", " ", "<"};
  const auto svg = render_heat_map(tokens, {1, 0, 0, 0.25f, 0.75f, 0, 0.96f, 0.001f, 0.04f}, "Head & 1");
  CHECK(count(svg, "<rect") == 5);
  CHECK(contains(svg, "aria-label=\"Head &amp; 1\""));
  CHECK(contains(svg,
                 "<rect x=\"0\" y=\"10\" fill-opacity=\"0.50\"><title>\u2423 \u2192 a: 0.25</title></rect>"));
  CHECK(contains(svg, "<rect x=\"20\" y=\"20\" fill-opacity=\"0.20\"/>"));
  CHECK(contains(svg, ">&lt;</text>"));
  CHECK(count(render_heat_map(tokens, std::vector<float>(9, NAN), ""), "class=\"bad\"") == 9);
  CHECK_FALSE(contains(render_heat_map({}, {}, ""), "<rect"));
  CHECK_THROWS_WITH(
      render_heat_map(tokens, {1, 2}, ""),
      "render_heat_map: weights do not fit the tokens, 2 weights for 3 tokens; expected 9 weights");
}

TEST_CASE("the report holds all it was given and needs nothing else") {
  const auto page = render_report(small_report());
  CHECK(contains(page, "loss 1.412 = floor 1.040 + 0.372"));
  CHECK(contains(page, "<h1>run &lt;1&gt;</h1>"));
  CHECK(contains(page, "<dt>text</dt><dd>a &amp; b.txt</dd>"));
  CHECK(contains(page, "<pre><b>the </b>&lt;script&gt;alert(1)&lt;/script&gt;</pre>"));
  CHECK(count(page, "class=\"map\"") == 2);
  CHECK(contains(page, "Layer 1"));
  CHECK(contains(page, "prefers-color-scheme:dark"));
  for (const auto* network : {"http:", "https:", "src=", "href=", "url(", "@import", "<script"}) {
    CAPTURE(network);
    CHECK_FALSE(contains(page, network));
  }
  CHECK(count(page, "<section>") == count(page, "</section>"));
  CHECK(count(page, "<svg") == count(page, "</svg>"));
}

TEST_CASE("an empty report says only what it knows") {
  const auto page = render_report({});
  CHECK(contains(page, "No points were recorded"));
  CHECK_FALSE(contains(page, "floor 0"));
  CHECK_FALSE(contains(page, "Where the heads look"));
}

TEST_CASE("a report is written whole or not at all") {
  const fs::path path =
      fs::temp_directory_path() / ("heed_report_test_" + std::to_string(::getpid()) + ".html");
  write_report(path, small_report());
  std::ifstream file(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == render_report(small_report()));
  auto wrong = small_report();
  wrong.tokens.pop_back();
  CHECK_THROWS_AS(write_report(path, wrong), heed::ShapeError);
  CHECK(fs::file_size(path) == render_report(small_report()).size());
  fs::remove(path);
  CHECK_THROWS_AS(write_report("/no/such/report.html", small_report()), heed::IoError);
}
