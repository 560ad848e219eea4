// What attention costs over the length of the text, and what relieves it: every pair, half of them, a
// window, a cache.
//
//   cost [folder]    prints a table of operations, time and memory, and writes cost.svg into the folder
//
// Time is that of the processor on one thread, and differs from machine to machine. Counts of operations and
// bytes of tensors are the same everywhere.

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

#include "../chart/chart.h"

using namespace heed;

namespace {

constexpr std::int64_t d = 64;                // numbers of a query, key and value
constexpr std::int64_t window = 256;          // keys that a query of the window looks at
constexpr std::int64_t first = 256;           // the shortest text
constexpr std::int64_t last = 16384;          // the longest text
constexpr std::int64_t last_textbook = 4096;  // beyond it each T × T matrix takes 256 MiB and more

struct Cost {
  double pairs;    // of a query and a key that the formula multiplies
  double seconds;  // of the processor
  double bytes;    // of tensors at the peak, beyond queries, keys and values
};

struct Operands {
  Tensor q, k, v;
};

Operands operands(std::int64_t time) {
  Generator random(1);
  Operands o{randn({time, d}, random), randn({time, d}, random), randn({time, d}, random)};
  for (Tensor* x : {&o.q, &o.k, &o.v}) x->set_requires_grad();
  return o;
}

// Processor time of one call, over as many calls as take five milliseconds: a clock is too coarse for one.
double seconds_of(const std::function<void()>& run) {
  int calls = 0;
  const std::clock_t start = std::clock();
  std::clock_t now = start;
  for (; now - start < CLOCKS_PER_SEC / 200; now = std::clock(), ++calls) run();
  return static_cast<double>(now - start) / CLOCKS_PER_SEC / calls;
}

// The quickest of several runs, as whatever disturbs a run makes it longer, and the bytes that one holds.
Cost measure(double pairs, const std::function<void()>& run) {
  run();  // gets memory from the system, which later runs have
  const auto live = memory_stats().live;
  reset_peak_bytes();
  run();
  Cost cost{pairs, seconds_of(run), static_cast<double>(memory_stats().peak - live)};
  const std::clock_t start = std::clock();
  for (int i = 0; i < 3 || std::clock() - start < CLOCKS_PER_SEC / 5; ++i)
    cost.seconds = std::min(cost.seconds, seconds_of(run));
  return cost;
}

void differentiate(const Tensor& output, const Operands& o) {
  const std::vector<Tensor> outputs = {sum(output)};
  const std::vector<Tensor> inputs = {o.q, o.k, o.v};
  grad(outputs, inputs);
}

Cost textbook(std::int64_t time) {
  const Operands o = operands(time);
  const Tensor mask = tril(ones({time, time}, DType::boolean));
  const auto all = static_cast<double>(time * time);
  return measure(all, [&] { differentiate(scaled_dot_product_attention(o.q, o.k, o.v, mask).output, o); });
}

Cost blocked(std::int64_t time, const AttentionMask& mask, double pairs) {
  const Operands o = operands(time);
  return measure(pairs, [&] { differentiate(attention(o.q, o.k, o.v, {.mask = mask}).output, o); });
}

// One more token: a single query over the keys and values that are there already. Forward alone, as
// text is written.
Cost cached(std::int64_t time) {
  const Operands o = operands(time);
  const Tensor query = narrow(o.q.detach(), 0, time - 1, 1);
  return measure(static_cast<double>(time), [&] {
    const NoGrad guard;
    attention(query, o.k, o.v);
  });
}

struct Form {
  std::string name;
  int color;
  std::int64_t longest;  // text
  double operations;     // a pair and number: forward 4; backward 8, and 2 where scores are computed again
  std::function<Cost(std::int64_t time)> cost;
  std::vector<std::pair<double, Cost>> measured = {};  // T and its cost
};

std::vector<Form> forms() {
  const auto half = [](std::int64_t t) { return static_cast<double>(t) * static_cast<double>(t + 1) / 2; };
  const auto near = [half](std::int64_t t) {  // the first queries have fewer keys before them
    return t <= window ? half(t) : half(window) + static_cast<double>((t - window) * window);
  };
  const auto causal = AttentionMask::causal();
  const auto windowed = causal & AttentionMask::window(window - 1, 0);
  return {{"textbook", 1, last_textbook, 12, textbook},
          {"causal", 0, last, 14, [=](std::int64_t t) { return blocked(t, causal, half(t)); }},
          {"window", 2, last, 14, [=](std::int64_t t) { return blocked(t, windowed, near(t)); }},
          {"one cached token", 3, last, 4, cached}};
}

// The slope of a cost on logarithmic axes, over the last two doublings of T: 1 is linear, 2 is quadratic.
double exponent(const Form& form, double Cost::*what) {
  const std::size_t end = form.measured.size() - 1;
  return std::log2(form.measured[end].second.*what / form.measured[end - 2].second.*what) / 2;
}

void print_table(const std::vector<Form>& all) {
  fmt::print("One head of {} numbers, f32, one thread. Forward and backward; of the cached token forward.\n",
             d);
  fmt::print("Operations are those of the products, over the pairs that are open.\n\n");
  fmt::print("{:>18} {:>7} {:>12} {:>10} {:>12}\n", "", "T", "operations", "ms", "memory KiB");
  for (const Form& form : all) {
    for (const auto& [time, cost] : form.measured) {
      fmt::print("{:>18} {:>7} {:>12.3g} {:>10.3f} {:>12.0f}\n", form.name, time,
                 form.operations * d * cost.pairs, 1e3 * cost.seconds, cost.bytes / 1024);
    }
    fmt::print("{:>18} {:>7} {:>12} {:>10} {:>12}\n\n", "grow like", "",
               fmt::format("T^{:.1f}", exponent(form, &Cost::pairs)),
               fmt::format("T^{:.1f}", exponent(form, &Cost::seconds)),
               fmt::format("T^{:.1f}", exponent(form, &Cost::bytes)));
  }
}

void draw(const std::vector<Form>& all, const std::filesystem::path& folder) {
  chart::Chart figure{.title = "Time of attention over the length of the text, one head, one thread",
                      .x_title = "tokens T",
                      .y_title = "ms",
                      .log_x = true,
                      .log_y = true};
  for (const Form& form : all) {
    chart::Series series{.name = fmt::format("{}: T^{:.1f}", form.name, exponent(form, &Cost::seconds)),
                         .color = form.color,
                         .dashed = form.operations < 12};  // forward alone
    for (const auto& [time, cost] : form.measured) series.points.push_back({time, 1e3 * cost.seconds});
    figure.series.push_back(series);
  }
  chart::write(folder / "cost.svg", figure);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::filesystem::path folder = chart::figure_folder(count, arguments);
    set_num_threads(1);
    std::vector<Form> all = forms();
    for (Form& form : all) {
      for (std::int64_t time = first; time <= form.longest; time *= 2)
        form.measured.emplace_back(static_cast<double>(time), form.cost(time));
    }
    print_table(all);
    draw(all, folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cost: {}\n", error.what());
    return 1;
  }
}
