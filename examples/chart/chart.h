#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <heed/io/atomic_file.h>
#include <heed/train/report/html.h>

// A line chart as an SVG file of its own, for light and dark screens.
namespace chart {

struct Series {
  std::string name = {};
  int color = 0;  // 0, 1 or 2; 3 is grey
  std::vector<std::pair<double, double>> points = {};
  bool dashed = false;
};

struct Chart {
  std::string title = {}, x_title = {}, y_title = {};
  bool log_x = false;  // powers of 2
  bool log_y = false;  // powers of 10
  std::vector<Series> series = {};
};

// Round numbers of the form {1, 2, 5}·10^k that cover [low, high] with about `count` steps between them.
inline std::vector<double> axis_ticks(double low, double high, int count) {
  if (!(high > low)) {
    const double margin = low == 0 ? 1.0 : std::abs(low) / 2;
    low -= margin;
    high += margin;
  }
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double steps[] = {1, 2, 5, 10};
  // The first step that is not finer than asked, within a tenth.
  const double factor = *std::find_if(std::begin(steps), std::end(steps) - 1,
                                      [&](double step) { return step * power >= rough * 0.9; });
  const double spacing = factor * power;
  const double last = std::ceil(high / spacing - 1e-9);
  std::vector<double> ticks;
  for (double i = std::floor(low / spacing + 1e-9); i <= last; ++i) ticks.push_back(i * spacing);
  return ticks;
}

class Axis {
 public:
  Axis(double low, double high, double base, int count) : base_(base) {
    if (base_ == 0) {
      for (const double tick : axis_ticks(low, high, count))
        ticks_.push_back({tick, fmt::format("{:g}", tick)});
    } else {
      const auto first = static_cast<int>(std::floor(place(low) + 1e-9));
      const auto last = static_cast<int>(std::ceil(place(high) - 1e-9));
      const int step = std::max(1, (last - first) / count);
      for (int p = first; p <= last; p += step) {
        ticks_.push_back(
            {std::pow(base_, p), base_ == 2 ? fmt::format("{:g}", std::pow(2, p)) : fmt::format("1e{}", p)});
      }
    }
    low_ = std::min(place(low), place(ticks_.front().first));
    high_ = std::max(place(high), place(ticks_.back().first));
  }
  /// 0 at the low end, 1 at the high one.
  double share(double value) const { return (place(value) - low_) / (high_ - low_); }
  const std::vector<std::pair<double, std::string>>& ticks() const { return ticks_; }

 private:
  double place(double value) const { return base_ == 0 ? value : std::log(value) / std::log(base_); }
  double base_;
  double low_ = 0, high_ = 1;
  std::vector<std::pair<double, std::string>> ticks_;
};

inline constexpr const char* style =
    "svg{--paper:#fcfcfa;--ink:#1c1d20;--muted:#65676d;--line:#e4e4df;--c0:#3567c9;--c1:#c4541a;--c2:#23804f;"
    "--c3:#8a8c92}"
    "@media "
    "(prefers-color-scheme:dark){svg{--paper:#15171a;--ink:#e9eaec;--muted:#9b9fa7;--line:#30343a;--c0:#"
    "7ea8ff;"
    "--c1:#f39a5f;--c2:#5cc48d;--c3:#85888f}}"
    "text{font:13px "
    "system-ui,sans-serif;fill:var(--muted)}.title{font-weight:600;font-size:15px;fill:var(--ink)}"
    ".name{fill:var(--ink)}.paper{fill:var(--paper)}.grid{stroke:var(--line)}"
    ".curve{fill:none;stroke-width:2.2;stroke-linejoin:round}.dashed{stroke-dasharray:6 5}"
    ".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}";

inline std::string text_at(double x, double y, const char* anchor, const char* kind,
                           const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kind, x,
                     y, anchor, heed::train::report::escape_html(words));
}

/// Where data lie on the paper.
struct Frame {
  static constexpr double width = 736, height = 400, left = 72, right = 700, top = 64, bottom = 340;
  Axis across, up;
  double x(double value) const { return left + across.share(value) * (right - left); }
  double y(double value) const { return bottom - up.share(value) * (bottom - top); }
};

inline Frame frame_of(const Chart& chart) {
  std::vector<double> xs, ys;
  for (const Series& s : chart.series) {
    for (const auto& [x, y] : s.points) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  const auto [x_low, x_high] = std::minmax_element(xs.begin(), xs.end());
  const auto [y_low, y_high] = std::minmax_element(ys.begin(), ys.end());
  return {Axis(*x_low, *x_high, chart.log_x ? 2 : 0, 8), Axis(*y_low, *y_high, chart.log_y ? 10 : 0, 5)};
}

inline std::string axes_of(const Chart& chart, const Frame& f) {
  std::string svg;
  for (const auto& [tick, words] : f.up.ticks()) {
    svg += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", f.left, f.y(tick), f.right);
    svg += text_at(f.left - 8, f.y(tick) + 4, "end", "tick", words);
  }
  for (const auto& [tick, words] : f.across.ticks())
    svg += text_at(f.x(tick), f.bottom + 20, "middle", "tick", words);
  svg += text_at((f.left + f.right) / 2, f.height - 14, "middle", "tick", chart.x_title);
  return svg +
         fmt::format("<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (f.top + f.bottom) / 2, heed::train::report::escape_html(chart.y_title));
}

// The curve, and its name after a piece of line at x = `legend`.
inline std::string curve_of(const Series& s, const Frame& f, double legend) {
  const std::string kind = fmt::format("curve c{}{}", s.color, s.dashed ? " dashed" : "");
  std::string path;
  for (const auto& [x, y] : s.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", f.x(x), f.y(y));
  return fmt::format("<path class=\"{0}\" d=\"{1}\"/>\n<path class=\"{0}\" d=\"M{2:.1f} 44h22\"/>\n", kind,
                     path, legend) +
         text_at(legend + 28, 48, "start", "name", s.name);
}

// Bytes of UTF-8 that begin a letter.
inline double letters_of(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<double>(std::count_if(text.begin(), text.end(), begins));
}

inline std::string svg_of(const Chart& chart) {
  const Frame f = frame_of(chart);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\">\n"
      "<title>{2}</title>\n<style>{3}</style>\n<rect class=\"paper\" width=\"{0}\" height=\"{1}\"/>\n",
      f.width, f.height, heed::train::report::escape_html(chart.title), style);
  svg += text_at(f.left, 26, "start", "title", chart.title) + axes_of(chart, f);
  double legend = f.left;
  for (const Series& s : chart.series) {
    svg += curve_of(s, f, legend);
    legend += 52 + 7.2 * letters_of(s.name);  // about the width of a letter
  }
  return svg + "</svg>\n";
}

/// A number a step, counted from 0.
inline std::vector<std::pair<double, double>> by_step(const std::vector<double>& values) {
  std::vector<std::pair<double, double>> points;
  for (const double value : values) points.emplace_back(points.size(), value);
  return points;
}

inline void write(const std::filesystem::path& path, const Chart& chart) {
  heed::io::write_file(path, svg_of(chart));
  fmt::print("wrote {}\n", path.string());
}

/// The folder for the figures of an example: the one word on its command line, or this folder. Another
/// word, or a folder that is not there, ends the program before it has computed anything. Lines are shown
/// as they are written, into a pipe too.
inline std::filesystem::path figure_folder(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string given = count > 1 ? arguments[1] : ".";
  const bool wants_help = given == "-h" || given == "--help";
  if (count <= 2 && !given.starts_with('-') && std::filesystem::is_directory(given)) return given;
  fmt::print(wants_help ? stdout : stderr,
             "usage: {} [FOLDER]\nFOLDER is there, and gets the figures; none given: {}\n",
             std::filesystem::path(arguments[0]).filename().string(),
             std::filesystem::current_path().string());
  std::exit(wants_help ? 0 : 2);
}

}  // namespace chart
