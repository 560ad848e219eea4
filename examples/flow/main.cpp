// The way of five tokens through attention, drawn with numbers that heed computes. It prints queries,
// keys and weights.
//
//   flow [folder]    writes into the folder
//     attention_flow.svg       one head, from the tokens' vectors to the output's
//     attention_query.svg      one query: its shares, and the gradient that comes back through the softmax
//     attention_recurrent.svg  what depends on what in a recurrent net and in attention

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

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
    const std::size_t row = i / columns;
    svg += fmt::format(
        "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill-opacity=\"{:.2f}\"/>\n",
        values[i] < 0 ? 1 : 0, left + cell * static_cast<double>(i % columns),
        top + cell * static_cast<double>(row), cell - 1.5, cell - 1.5,
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

// What every drawing begins with: paper, colours, the tip of an arrow, a title.
std::string paper(double paper_width, double paper_height, const std::string& title) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
             "role=\"img\">\n<title>{2}</title>\n<style>{3}"
             ".f0{{fill:var(--c0)}}.f1{{fill:var(--c1)}}.box{{fill:none;stroke:var(--muted)}}"
             ".arrow{{fill:none;stroke:var(--muted);stroke-width:1.4}}"
             ".head{{fill:var(--muted)}}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" "
             "refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
             "orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
             "<rect class=\"paper\" width=\"{0}\" height=\"{1}\"/>\n",
             paper_width, paper_height, title, chart::style) +
         chart::text_at(20, 26, "start", "title", title);
}

std::string drawing(const Head& h) {
  std::string svg = paper(940, 420, "From tokens to output vectors through one attention head");
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

// A bar a token on a line at `y`, `unit` high for 1, with its number.
std::string bars(double y, double unit, const std::vector<double>& values, int color, const std::string& name,
                 const std::string& meaning) {
  std::string svg = chart::text_at(20, y - 8, "start", "name", name) +
                    chart::text_at(20, y + 10, "start", "tick", meaning) +
                    fmt::format("<path class=\"grid\" d=\"M226 {0:.1f}H676\"/>\n", y);
  for (std::size_t j = 0; j < values.size(); ++j) {
    const double x = 246 + 90 * static_cast<double>(j), height = std::abs(values[j]) * unit;
    const bool below = values[j] < 0;
    svg += fmt::format(
        "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"50\" height=\"{:.1f}\" "
        "fill-opacity=\"0.85\"/>\n",
        color, x, below ? y : y - height, height);
    svg += chart::text_at(x + 25, below ? y + height + 15 : y - height - 5, "middle", "tick",
                          fmt::format("{:.2f}", values[j]));
  }
  return svg;
}

// One query. Scores and values' worth are chosen to be read at a glance; shares and gradient are computed.
std::string query_drawing() {
  const Tensor s = tensor({0.0, 2.0, 1.0, -1.0, 0.5}).set_requires_grad();
  const Tensor worth = tensor({-0.5, 1.0, -1.0, 1.5, 0.5});
  const Tensor shares = softmax(s);
  const Tensor gradient = grad(shares, s, {.grad_outputs = {worth}});
  const double mean_worth = sum(shares * worth).item<double>();

  std::string svg = paper(720, 530, "One query: its shares, and the gradient that comes back");
  for (std::size_t j = 0; j < tokens.size(); ++j)
    svg += chart::text_at(271 + 90 * static_cast<double>(j), 60, "middle", "name", tokens[j]);
  svg += bars(130, 22, s.to_vector<double>(), 0, "s = q·k / √d", "how well each key fits");
  svg += bars(255, 90, shares.to_vector<double>(), 0, "P = softmax(s)", "positive, adding up to 1");
  svg += bars(355, 30, worth.to_vector<double>(), 1, "dP = dO · v", "slope of the loss in each share");
  const double level = 355 - 30 * mean_worth;
  svg += fmt::format("<path class=\"curve c3 dashed\" d=\"M226 {0:.1f}H676\"/>\n", level);
  svg += chart::text_at(684, level + 4, "start", "name", "Δ");
  svg += bars(465, 120, gradient.to_vector<double>(), 1, "dS = P ⊙ (dP − Δ)", "adding up to 0");
  return svg + "</svg>\n";
}

std::string node(double x, double y, const std::string& name) {
  return fmt::format("<rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"60\" height=\"30\"/>\n", x - 30,
                     y - 15) +
         chart::text_at(x, y + 5, "middle", "name", name);
}

// A straight arrow, thick and coloured if it is on the way from the first token to the last output.
std::string straight(double x1, double y1, double x2, double y2, bool on_the_way) {
  return fmt::format("<path class=\"{}\" marker-end=\"url(#head)\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
                     on_the_way ? "curve c1" : "arrow", x1, y1, x2, y2);
}

std::string recurrent_drawing() {
  std::string svg = paper(720, 430, "From the first token to the last output: five steps, or one");
  svg += chart::text_at(20, 100, "start", "name", "recurrent");
  svg += chart::text_at(20, 280, "start", "name", "attention");
  const auto x_of = [](std::size_t i) { return 180 + 110 * static_cast<double>(i); };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double x = x_of(i);
    svg += chart::text_at(x, 70, "middle", "tick", fmt::format("step {}", i + 1));
    svg += node(x, 95, fmt::format("h{}", i + 1)) + node(x, 175, tokens[i]);
    svg += straight(x, 160, x, 112, i == 0);
    if (i > 0) svg += straight(x_of(i - 1) + 30, 95, x - 32, 95, true);

    svg += chart::text_at(x, 250, "middle", "tick", "step 1");
    svg += node(x, 275, fmt::format("o{}", i + 1)) + node(x, 375, tokens[i]);
    for (std::size_t j = 0; j <= i; ++j)
      svg += straight(x_of(j), 360, x, 292, j == 0 && i + 1 == tokens.size());
  }
  return svg +
         chart::text_at(20, 416, "start", "tick",
                        "Orange: the way from the first token to the last output.") +
         "</svg>\n";
}

void write(const std::filesystem::path& path, const std::string& svg) {
  io::write_file(path.string(), svg);
  fmt::print("wrote {}\n", path.string());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::filesystem::path folder = chart::figure_folder(count, arguments);
    const Head head = look();
    print("queries Q: what each token asks", head.Q);
    print("keys K: what each token offers", head.K);
    print("weights P = softmax(Q Kᵀ / √d): a row is one token's look back, and adds up to 1", head.P);
    print("outputs O = P V", head.O);
    write(folder / "attention_flow.svg", drawing(head));
    write(folder / "attention_query.svg", query_drawing());
    write(folder / "attention_recurrent.svg", recurrent_drawing());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "flow: {}\n", error.what());
    return 1;
  }
}
