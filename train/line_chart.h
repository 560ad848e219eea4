#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heed::train {

struct CurvePoint {
  double step = 0;
  double value = 0;
};

struct Curve {
  std::string name = {};
  std::string style = {};  // CSS class of its colour
  std::vector<CurvePoint> points = {};
};

struct LineChart {
  std::string label = {};  // what the chart shows, for readers of the screen
  std::string x_title = {};
  std::string y_title = {};
  std::vector<Curve> curves = {};
  std::optional<double> level = std::nullopt;  // a dashed horizontal line
  std::string level_name = {};
  bool from_zero = false;  // the vertical axis starts at 0
};

/// Round numbers of the form {1, 2, 5}·10^k that cover [low, high] with about `count` steps between them.
std::vector<double> axis_ticks(double low, double high, int count);

/// An inline SVG of the chart for the given size in CSS pixels; points that are not finite are gaps, and a
/// curve of more than one point a pixel is drawn through the means of its neighbours. A chart without points
/// says so.
std::string render_line_chart(const LineChart& chart, int width, int height);

}  // namespace heed::train
