#include <algorithm>
#include <cmath>
#include <map>

#include <heed/tests/lint/house/drawing.h>
#include <heed/tests/lint/house/layout.h>

namespace heed::lint::house {
namespace {

constexpr double page_margin = 32, row_gap = 46, top_margin = 56, bottom_margin = 64;
constexpr double box_width = 226, box_height = 56;
constexpr double inner_width = 136, inner_height = 54, inner_gap = 20, inner_margin = 12;

constexpr const char* style_sheet =
    "svg{--paper:#fcfcfa;--ink:#1c1d20;--muted:#65676d;--line:#b9bbc0;--room:#ffffff;--inner:#eef2fb;"
    "--program:#f6f1e8;--arrow:#3567c9}\n"
    "@media (prefers-color-scheme:dark){svg{--paper:#15171a;--ink:#e9eaec;--muted:#9b9fa7;--line:#4a4f57;"
    "--room:#1e2125;--inner:#242c3b;--program:#2b2721;--arrow:#7ea8ff}}\n"
    "text{font:12px "
    "system-ui,sans-serif;fill:var(--muted)}.title{font-weight:600;font-size:16px;fill:var(--ink)}"
    ".name{font-weight:600;font-size:15px;fill:var(--ink)}.part{font-weight:600;font-size:13px;fill:var(--"
    "ink)}"
    ".count{font-size:11px}\n"
    ".paper{fill:var(--paper)}.room,.inner,.program{stroke:var(--line);fill:var(--room)}.inner{fill:var(--"
    "inner)}"
    ".program{fill:var(--program)}.arrow{fill:none;stroke:var(--arrow);stroke-width:1.5}.tip{fill:var(--"
    "arrow)}";

std::string number(double value) { return std::to_string(static_cast<long>(std::lround(value))); }

std::string text_at(double x, double y, const std::string& kind, const std::string& words,
                    const std::string& anchor = "start") {
  return "<text class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" +
         anchor + "\">" + words + "</text>\n";
}

std::string box(const std::string& kind, double x, double y, double width, double height) {
  return "<rect class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
         number(width) + "\" height=\"" + number(height) + "\" rx=\"7\"/>\n";
}

std::string counted(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string count_of(const Room& room) {
  return counted(room.files, "file") + ", " + counted(room.lines, "line");
}

double width_of(const Room& room) {
  const auto count = static_cast<double>(room.inner.size());
  return std::max(box_width, count * inner_width + (count - 1) * inner_gap + 2 * inner_margin);
}

double height_of(const Room& room) {
  return room.inner.empty() ? box_height : box_height + inner_height + inner_margin;
}

/// Where a row of rooms lies.
struct Row {
  double top = 0, height = 0;
  double bottom() const { return top + height; }
};

/// A path with a tip at its end.
std::string arrow(const std::string& path, const std::string& from, const std::string& to) {
  return "<path class=\"arrow\" data-from=\"" + from + "\" data-to=\"" + to + "\" d=\"" + path +
         "\" marker-end=\"url(#tip)\"/>\n";
}

class Drawing {
 public:
  explicit Drawing(const House& house) : house_(house) {
    std::vector<double> widths;
    for (const Room& room : house.rooms) widths.push_back(width_of(room));
    layout_ = layout_of(house, widths);
    place_rows();
    place_ports();
  }

  std::string svg() const {
    std::string body = text_at(page_margin, 30, "title", "The rooms of heed, and who includes whom");
    for (std::size_t level = 0; level < rows_.size(); ++level) {
      for (const int at : layout_.layers[level]) {
        if (place(at).room >= 0) body += room_at(place(at), rows_[level]) + arrows_from(at, level);
      }
    }
    body += caption(34,
                    "a → b: files of a include headers of b. Left out: arrows that longer ways imply, arrows "
                    "between a room");
    body += caption(17,
                    "and those inside it, and tests and benchmarks, which may include everything. Drawn by "
                    "./dev house.");
    const std::string width = number(width_), height = number(height_);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " + height + "\" width=\"" +
           width + "\" height=\"" + height +
           "\" role=\"img\">\n<title>The rooms of heed, and who includes whom</title>\n" + "<style>" +
           style_sheet + "</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" " +
           "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">" +
           "<path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n<rect class=\"paper\" width=\"" +
           width + "\" height=\"" + height + "\"/>\n" + body + "</svg>\n";
  }

 private:
  /// A line of text, so high above the lower edge.
  std::string caption(double height, const std::string& words) const {
    return text_at(page_margin, height_ - height, "caption", words);
  }

  const Place& place(int at) const { return layout_.places[static_cast<std::size_t>(at)]; }
  const Room& room(const Place& place) const { return house_.rooms[static_cast<std::size_t>(place.room)]; }

  /// The highest layer lies at the top; x = 0 becomes the left margin.
  void place_rows() {
    double left = 0, right = 0;
    for (const Place& one : layout_.places) {
      left = std::min(left, one.x - one.width / 2);
      right = std::max(right, one.x + one.width / 2);
    }
    for (Place& one : layout_.places) one.x += page_margin - left;
    width_ = std::max(right - left + 2 * page_margin, 620.0);
    rows_.resize(layout_.layers.size());
    double top = top_margin;
    for (std::size_t level = rows_.size(); level-- > 0;) {
      rows_[level].top = top;
      for (const int at : layout_.layers[level]) {
        const double height = place(at).room < 0 ? 0 : height_of(room(place(at)));
        rows_[level].height = std::max(rows_[level].height, height);
      }
      top = rows_[level].bottom() + row_gap;
    }
    height_ = top - row_gap + bottom_margin;
  }

  /// Spreads the ends of arrows over the edges of the rooms, from left to right as their other ends lie.
  void place_ports() {
    std::map<int, std::vector<int>> above;
    for (int from = 0; from < static_cast<int>(layout_.places.size()); ++from) {
      for (const int to : place(from).below) above[to].push_back(from);
      spread(from, place(from).below, [&](int to, double x) { starts_[{from, to}] = x; });
    }
    for (const auto& [to, sources] : above) {
      spread(to, sources, [&, &last = to](int from, double x) { ends_[{from, last}] = x; });
    }
  }

  template <class Put>
  void spread(int at, std::vector<int> others, Put put) const {
    std::sort(others.begin(), others.end(), [&](int a, int b) { return place(a).x < place(b).x; });
    const auto count = static_cast<double>(others.size());
    const double step = std::min(44.0, (place(at).width - 40) / std::max(1.0, count));
    for (std::size_t i = 0; i < others.size(); ++i) {
      put(others[i], place(at).x + (static_cast<double>(i) - (count - 1) / 2) * step);
    }
  }

  /// Where a place lies in its row: a room in its middle, a way from its top to its bottom.
  Row extent(const Place& place, const Row& row) const {
    if (place.room < 0) return row;
    const double height = height_of(room(place));
    return {row.top + (row.height - height) / 2, height};
  }

  /// The arrows of a room, each down to its end through the places where it goes by.
  std::string arrows_from(int start, std::size_t level) const {
    std::string text;
    for (const int first : place(start).below) {
      std::string path;
      int from = start, to = first;
      for (std::size_t row = level;; --row) {
        const double x = starts_.at({from, to}), port = ends_.at({from, to});
        // An arrow that is nearly upright is drawn upright.
        const double target = place(to).room >= 0 && std::abs(port - x) < 5 ? x : port;
        const double end = rows_[row - 1].top, inside = extent(place(to), rows_[row - 1]).top;
        if (path.empty()) path = "M" + number(x) + " " + number(extent(place(from), rows_[row]).bottom());
        path += across(x, rows_[row].bottom(), target, end);
        if (inside > end) path += "V" + number(inside);
        if (place(to).room >= 0) break;
        from = to;
        to = place(to).below.front();
      }
      text += arrow(path, room(place(start)).name, room(place(to)).name);
    }
    return text;
  }

  /// From one row to the next, upright at both ends.
  static std::string across(double x, double y, double target, double end) {
    const std::string middle = number((y + end) / 2);
    return "V" + number(y) + "C" + number(x) + " " + middle + " " + number(target) + " " + middle + " " +
           number(target) + " " + number(end);
  }

  std::string room_at(const Place& place, const Row& whole) const {
    const Room& one = room(place);
    const Row row = extent(place, whole);
    const double left = place.x - place.width / 2;
    const bool library = in_library(one.name + "/");
    std::string text = box(library ? "room" : "program", left, row.top, place.width, row.height);
    text += text_at(left + 14, row.top + 24, "name", one.name + (library ? "/" : ""));
    text += text_at(left + place.width - 14, row.top + 24, "count", count_of(one), "end");
    text += text_at(left + 14, row.top + 43, "words", one.words);
    const auto count = static_cast<double>(one.inner.size());
    double x = place.x - (count * inner_width + (count - 1) * inner_gap) / 2;
    for (std::size_t i = 0; i < one.inner.size(); ++i) {
      text += inner_at(one.inner[i], x, row.top + box_height);
      const double next = x + inner_width + inner_gap;
      if (i + 1 < one.inner.size() &&
          house_.inner_arrows.count({one.inner[i].name, one.inner[i + 1].name}) == 1) {
        const double middle = row.top + box_height + inner_height / 2;
        text += arrow("M" + number(next - inner_gap) + " " + number(middle) + "H" + number(next),
                      one.inner[i].name, one.inner[i + 1].name);
      }
      x = next;
    }
    return text;
  }

  static std::string inner_at(const Room& inner, double x, double y) {
    return box("inner", x, y, inner_width, inner_height) +
           text_at(x + 10, y + 18, "part", inner.name.substr(inner.name.find('/') + 1) + "/") +
           text_at(x + 10, y + 33, "words", inner.words) + text_at(x + 10, y + 47, "count", count_of(inner));
  }

  const House& house_;
  Layout layout_;
  std::vector<Row> rows_;
  double width_ = 0, height_ = 0;
  /// Where the arrow from one place to another leaves and arrives.
  std::map<std::pair<int, int>, double> starts_, ends_;
};

}  // namespace

std::string drawing_of(const Tree& tree) {
  const House house = house_of(tree);
  return Drawing(house).svg();
}

std::string without_counts(std::string_view drawing) {
  std::string text;
  for (const auto& line : lines_of(drawing)) {
    if (!line.starts_with("<text class=\"count\"")) text += line + "\n";
  }
  return text;
}

}  // namespace heed::lint::house
