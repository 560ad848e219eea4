#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include <heed/train/html.h>
#include <heed/train/line_chart.h>

namespace heed::train {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

bool is_finite(const CurvePoint& point) { return std::isfinite(point.step) && std::isfinite(point.value); }

// At most `most` points: the means of runs of equal length. A run with a gap in it is a gap.
std::vector<CurvePoint> thin(const std::vector<CurvePoint>& points, std::size_t most) {
  if (points.size() <= most) return points;
  const std::size_t run = (points.size() + most - 1) / most;
  std::vector<CurvePoint> means;
  for (std::size_t first = 0; first < points.size(); first += run) {
    const std::size_t count = std::min(run, points.size() - first);
    CurvePoint mean;
    for (std::size_t i = first; i < first + count; ++i) {
      mean.step += points[i].step / static_cast<double>(count);
      mean.value += points[i].value / static_cast<double>(count);
    }
    means.push_back(mean);
  }
  return means;
}

std::string tick_text(double value, double spacing) {
  if (value == 0) return "0";
  if (spacing < 1e-3 || std::abs(value) >= 1e6) return fmt::format("{:.3g}", value);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(spacing) + 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

double spacing_of(const std::vector<double>& ticks) {
  return ticks.size() > 1 ? ticks[1] - ticks[0] : ticks[0];
}

// Maps data to pixels and holds the axes.
struct Frame {
  int width, height;
  int left = 52, right = 14, top = 12, bottom = 44;
  Range x_range = {}, y_range = {};
  std::vector<double> x_ticks = {}, y_ticks = {};

  double x(double step) const {
    return left + (step - x_range.low) / (x_range.high - x_range.low) * (width - left - right);
  }
  double y(double value) const {
    return height - bottom - (value - y_range.low) / (y_range.high - y_range.low) * (height - top - bottom);
  }
};

// The vertical axis runs from tick to tick; the horizontal one ends with the data, on round ticks inside it.
Frame fit(Range x, const Range& y, int width, int height) {
  Frame frame{.width = width, .height = height};
  if (x.low > 0 && x.low < 0.05 * x.high) x.low = 0;
  frame.y_ticks = axis_ticks(y.low, y.high, height / 55);
  frame.y_range = {frame.y_ticks.front(), frame.y_ticks.back()};
  frame.x_ticks = axis_ticks(x.low, x.high, width / 90);
  if (x.low == x.high) x = {frame.x_ticks.front(), frame.x_ticks.back()};
  frame.x_range = x;
  std::erase_if(frame.x_ticks, [&](double tick) { return tick < x.low || tick > x.high; });
  return frame;
}

std::string render_axes(const LineChart& chart, const Frame& frame) {
  std::string svg;
  const int right = frame.width - frame.right;
  const int base = frame.height - frame.bottom;
  for (const double tick : frame.y_ticks) {
    svg += fmt::format(R"(<path class="grid" d="M{} {:.1f}H{}"/>)", frame.left, frame.y(tick), right);
    svg += fmt::format(R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)", frame.left - 7,
                       frame.y(tick) + 4, tick_text(tick, spacing_of(frame.y_ticks)));
  }
  for (const double tick : frame.x_ticks) {
    const bool at_edge = frame.x(tick) > right - 10;
    svg += fmt::format(R"(<path class="axis" d="M{:.1f} {}v5"/>)", frame.x(tick), base);
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="{}">{}</text>)",
                       frame.x(tick) + (at_edge ? 6 : 0), base + 18, at_edge ? "end" : "middle",
                       tick_text(tick, spacing_of(frame.x_ticks)));
  }
  svg += fmt::format(R"(<path class="axis" d="M{} {}H{}"/>)", frame.left, base, right);
  svg += fmt::format(R"(<text class="name" x="{}" y="{}" text-anchor="middle">{}</text>)",
                     (frame.left + right) / 2, frame.height - 6, escape_html(chart.x_title));
  svg += fmt::format(
      R"svg(<text class="name" transform="translate(13 {}) rotate(-90)" text-anchor="middle">{}</text>)svg",
      (frame.top + base) / 2, escape_html(chart.y_title));
  return svg;
}

std::string render_curve(const Curve& curve, const Frame& frame) {
  const auto points = thin(curve.points, static_cast<std::size_t>(std::max(2, frame.width / 2)));
  std::string path;
  bool pen_down = false;
  for (const auto& point : points) {
    if (!is_finite(point)) {
      pen_down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", frame.x(point.step), frame.y(point.value));
    pen_down = true;
  }
  if (path.empty()) return "";
  std::string svg = fmt::format(R"(<path class="curve {}" d="{}"/>)", curve.style, path);
  const auto last = std::find_if(points.rbegin(), points.rend(), is_finite);
  svg += fmt::format(R"(<circle class="end {}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>)", curve.style,
                     frame.x(last->step), frame.y(last->value));
  return svg;
}

std::string render_level(const LineChart& chart, const Frame& frame) {
  if (!chart.level || !std::isfinite(*chart.level)) return "";
  const double y = frame.y(*chart.level);
  // Above the line the curves come down to it on the right, so the name stands below, on the left.
  return fmt::format(R"(<path class="curve level" d="M{} {:.1f}H{}"/>)", frame.left, y,
                     frame.width - frame.right) +
         fmt::format(R"(<text class="level-name" x="{}" y="{:.1f}">{}</text>)", frame.left + 8, y + 15,
                     escape_html(chart.level_name));
}

std::string render_legend(const LineChart& chart) {
  std::string html = R"(<p class="legend">)";
  for (const auto& curve : chart.curves) {
    if (curve.points.empty()) continue;
    html += fmt::format(R"(<span><i class="{}"></i>{}</span>)", curve.style, escape_html(curve.name));
  }
  return html + "</p>";
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
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
  const double first = std::floor(low / spacing + 1e-9);
  const double last = std::ceil(high / spacing - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * spacing);
  return ticks;
}

std::string render_line_chart(const LineChart& chart, int width, int height) {
  Range x;
  Range y;
  for (const auto& curve : chart.curves) {
    for (const auto& point : curve.points) {
      if (!is_finite(point)) continue;
      x.include(point.step);
      y.include(point.value);
    }
  }
  if (x.empty()) return R"(<p class="empty">No points were recorded.</p>)";
  if (chart.level && std::isfinite(*chart.level)) y.include(*chart.level);
  if (chart.from_zero) y.include(0);

  const Frame frame = fit(x, y, width, height);
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
                  width, height, escape_html(chart.label));
  svg += render_axes(chart, frame) + render_level(chart, frame);
  for (const auto& curve : chart.curves) svg += render_curve(curve, frame);
  return render_legend(chart) + svg + "</svg>";
}

}  // namespace heed::train
