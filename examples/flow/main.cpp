// The way of five tokens through one attention head, with its numbers: what each token asks, offers and passes on.
//
//   flow [folder]    prints queries, keys and weights, and writes attention_flow.svg into the folder

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/compare.h>
#include <heed/ops/matmul.h>
#include <heed/ops/softmax.h>
#include <heed/ops/transpose.h>
#include <heed/ops/triangle.h>
#include <heed/ops/where.h>

#include "../chart/chart.h"

using namespace heed;

namespace {

const std::array<std::string, 5> tokens = {"the", "cat", "saw", "the", "mouse"};
constexpr std::int64_t width = 8;  // numbers of each token's vector
constexpr std::int64_t size = 4;   // numbers of its query, key and value

// Every matrix of the head. A row belongs to a token.
struct Head {
  Tensor X, Q, K, V, P, O, Y;
};

Head look() {
  Generator random(3);
  const auto time = static_cast<std::int64_t>(tokens.size());
  const double spread = 1 / std::sqrt(static_cast<double>(width));
  Head h;
  h.X = randn({time, width}, random);
  h.Q = matmul(h.X, randn({width, size}, random) * spread);
  h.K = matmul(h.X, randn({width, size}, random) * spread);
  h.V = matmul(h.X, randn({width, size}, random) * spread);
  const Tensor scores = matmul(h.Q, transpose(h.K)) / std::sqrt(static_cast<double>(size));
  const Tensor later = logical_not(tril(ones({time, time}, DType::boolean)));
  h.P = softmax(masked_fill(scores, later, -INFINITY));
  h.O = matmul(h.P, h.V);
  h.Y = matmul(h.O, randn({size, width}, random) * 0.5);
  return h;
}

void print(const char* name, const Tensor& x) {
  fmt::print("{} {}\n", name, x.shape().str());
  const auto values = x.to_vector<float>();
  const auto columns = static_cast<std::size_t>(x.size(1));
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    fmt::print("  {:>5} ", tokens[row]);
    for (std::size_t j = 0; j < columns; ++j) fmt::print(" {:>6.2f}", values[row * columns + j]);
    fmt::print("\n");
  }
}

// A matrix as cells: colour 0 above zero and 1 below it, the more ink the larger the number.
std::string matrix(const Tensor& x, double left, double top, double cell, const std::string& name,
                   const std::string& meaning) {
  const auto values = x.to_vector<float>();
  const auto columns = static_cast<std::size_t>(x.size(1));
  float most = 0;
  for (const float v : values) most = std::max(most, std::abs(v));
  std::string svg;
  for (std::size_t i = 0; i < values.size(); ++i) {
    svg += fmt::format(
        "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill-opacity=\"{:.2f}\"/>\n",
        values[i] < 0 ? 1 : 0, left + cell * static_cast<double>(i % columns),
        top + cell * static_cast<double>(i / columns), cell - 1.5, cell - 1.5,
        static_cast<double>(std::abs(values[i] / most)));
  }
  const double height = cell * static_cast<double>(tokens.size());
  return svg + chart::text_at(left, top - 8, "start", "name", name) +
         chart::text_at(left, top + height + 14, "start", "tick", meaning);
}

std::string arrow(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M{0} {1}C{4} {1} {4} {3} {2} {3}\"/>\n", x1, y1,
      x2, y2, (x1 + x2) / 2);
}

std::string drawing(const Head& h) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 940 420\" width=\"940\" height=\"420\" "
      "role=\"img\">\n"
      "<title>From tokens to output vectors through one attention head</title>\n<style>{}"
      ".f0{{fill:var(--c0)}}.f1{{fill:var(--c1)}}.arrow{{fill:none;stroke:var(--muted);stroke-width:1.4}}"
      ".head{{fill:var(--muted)}}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" "
      "refY=\"4\" "
      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 "
      "8z\"/></marker></defs>\n"
      "<rect class=\"paper\" width=\"940\" height=\"420\"/>\n",
      chart::style);
  svg += chart::text_at(20, 26, "start", "title", "From tokens to output vectors through one attention head");
  constexpr double cell = 13, middle = 222;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    svg += chart::text_at(64, 200.5 + cell * static_cast<double>(i), "end", "tick", tokens[i]);
  svg += matrix(h.X, 72, 190, cell, "X [5, 8]", "a vector a token");
  const std::array<double, 3> tops = {70, 190, 310};
  svg += matrix(h.Q, 280, tops[0], cell, "Q = X W_Q [5, 4]", "what it asks");
  svg += matrix(h.K, 280, tops[1], cell, "K = X W_K [5, 4]", "what it offers");
  svg += matrix(h.V, 280, tops[2], cell, "V = X W_V [5, 4]", "what it passes on");
  for (const double top : tops) svg += arrow(182, middle, 272, top + 32);
  svg += matrix(h.P, 470, 110, 18, "P = softmax(Q Kᵀ / √4) [5, 5]", "row looks at column");
  svg += arrow(338, tops[0] + 32, 462, 140) + arrow(338, tops[1] + 32, 462, 170);
  svg += matrix(h.O, 680, 230, cell, "O = P V [5, 4]", "mixtures");
  svg += arrow(566, 165, 672, 250) + arrow(338, tops[2] + 32, 672, 280);
  svg += matrix(h.Y, 800, 190, cell, "Y = O W_O [5, 8]", "goes on") + arrow(740, 262, 792, 225);
  return svg + "</svg>\n";
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::filesystem::path folder = count > 1 ? arguments[1] : ".";
    const Head head = look();
    print("queries Q: what each token asks", head.Q);
    print("keys K: what each token offers", head.K);
    print("weights P = softmax(Q Kᵀ / √d): a row is one token's look back, and adds up to 1", head.P);
    print("outputs O = P V", head.O);
    io::write_file((folder / "attention_flow.svg").string(), drawing(head));
    fmt::print("wrote {}\n", (folder / "attention_flow.svg").string());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "flow: {}\n", error.what());
    return 1;
  }
}
