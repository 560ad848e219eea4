#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/train/heat_map.h>
#include <heed/train/html.h>
#include <heed/train/utf8.h>

namespace heed::train {
namespace {

constexpr std::size_t kCell = 10;      // pixels of the drawing, which scales
constexpr std::size_t kCharacter = 6;  // width of a label's character
constexpr std::size_t kLongest = 10;   // characters of a label
constexpr float kInvisible = 0.0025f;  // √ below 0.05: paper
constexpr float kTooltip = 0.05f;

std::string axis_label(const std::string& token) {
  const auto codes = decode_utf8(visible_token(token), "render_heat_map");
  std::string label;
  for (std::size_t i = 0; i < std::min(codes.size(), kLongest); ++i) append_utf8(label, codes[i]);
  if (codes.size() > kLongest) label += "\u2026";
  return label;
}

std::string render_cell(std::size_t query, std::size_t key, float weight,
                        const std::vector<std::string>& names) {
  const auto place = fmt::format(R"(<rect x="{}" y="{}")", key * kCell, query * kCell);
  if (!std::isfinite(weight)) return place + R"( class="bad"/>)";
  if (weight < kInvisible) return "";
  const auto ink = fmt::format(R"( fill-opacity="{:.2f}")", std::sqrt(std::min(weight, 1.0f)));
  if (weight < kTooltip) return place + ink + "/>";
  return place + ink +
         fmt::format("><title>{} \u2192 {}: {:.2f}</title></rect>", escape_html(names[query]),
                     escape_html(names[key]), weight);
}

std::string render_labels(const std::vector<std::string>& names, bool upright) {
  std::string svg;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = escape_html(names[i]);
    const std::size_t middle = i * kCell + kCell / 2;
    svg += fmt::format(R"(<text x="-4" y="{}" text-anchor="end">{}</text>)", middle + 3, name);
    if (upright) {
      svg += fmt::format(R"(<text x="{}" y="-4" text-anchor="middle">{}</text>)", middle, name);
    } else {
      svg +=
          fmt::format(R"svg(<text transform="translate({} -4) rotate(-90)">{}</text>)svg", middle + 3, name);
    }
  }
  return svg;
}

}  // namespace

std::string render_heat_map(const std::vector<std::string>& tokens, const std::vector<float>& weights,
                            const std::string& label) {
  const std::size_t count = tokens.size();
  if (weights.size() != count * count) {
    fail<ShapeError>("render_heat_map", "weights do not fit the tokens",
                     fmt::format("{} weights for {} tokens", weights.size(), count),
                     fmt::format("{} weights", count * count));
  }
  std::vector<std::string> names;
  std::size_t longest = 1;
  for (const auto& token : tokens) {
    names.push_back(axis_label(token));
    longest = std::max(longest, decode_utf8(names.back(), "render_heat_map").size());
  }
  const std::size_t margin = longest * kCharacter + 8;
  const std::size_t side = margin + count * kCell;
  std::string svg =
      fmt::format(R"(<svg class="map" viewBox="-{0} -{0} {1} {1}" role="img" aria-label="{2}">)", margin,
                  side + 2, escape_html(label));
  // The paper shows what a causal query may read.
  svg += R"(<path class="paper" d="M0 0)";
  for (std::size_t i = 0; i < count; ++i) svg += fmt::format("h{0}v{0}", kCell);
  svg += R"(H0z"/><g class="ink">)";
  for (std::size_t query = 0; query < count; ++query) {
    for (std::size_t key = 0; key < count; ++key) {
      svg += render_cell(query, key, weights[query * count + key], names);
    }
  }
  return svg + "</g>" + render_labels(names, longest == 1) + "</svg>";
}

}  // namespace heed::train
