// What attention costs over the length of the text, and what relieves it: every pair, half of them, a
// window, a cache.
//
//   cost [folder]    prints a table of operations, time and memory, and writes cost.svg into the folder
//
// Times are of the machine that runs it, one thread. Counts of operations and bytes of tensors are the same
// everywhere.

#include <algorithm>
#include <chrono>
#include <cmath>
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

constexpr std::int64_t d = 64;                   // numbers of a query, key and value
constexpr std::int64_t window = 256;             // keys that a query of the window looks at
constexpr std::int64_t longest_textbook = 4096;  // beyond it the weights alone take 256 MiB and more

struct Cost {
  double pairs;    // query and key that are multiplied
  double seconds;  // forward and backward
  double bytes;    // of tensors at the peak, beyond queries, keys, values and their gradients
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

// The quickest of a few runs, and the most bytes that one of them held.
Cost measure(double pairs, const std::function<void()>& run) {
  run();
  Cost cost{pairs, 1e9, 0};
  for (int i = 0; i < 3; ++i) {
    const auto live = memory_stats().live;
    reset_peak_bytes();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    cost.seconds = std::min(cost.seconds, passed.count());
    cost.bytes = static_cast<double>(memory_stats().peak - live);
  }
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

// One more token: a single query over the keys and values that are there already. Forward alone, as text is
// written.
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
  bool dashed;
  double
      operations;  // for each number of a pair; backward is 8 of them, and 2 more where logits are computed again
  std::function<Cost(std::int64_t time)> cost;
  std::vector<std::pair<double, Cost>> measured = {};
};

std::vector<Form> forms() {
  const auto half = [](std::int64_t t) { return static_cast<double>(t) * static_cast<double>(t + 1) / 2; };
  const auto near = [half](std::int64_t t) {  // the first queries have fewer keys before them
    return t <= window ? half(t) : half(window) + static_cast<double>((t - window) * window);
  };
  const auto causal = AttentionMask::causal();
  const auto windowed = AttentionMask::causal() & AttentionMask::window(window - 1, 0);
  return {{"textbook", 1, false, 12, textbook},
          {"causal", 0, false, 14, [=](std::int64_t t) { return blocked(t, causal, half(t)); }},
          {"window", 2, false, 14, [=](std::int64_t t) { return blocked(t, windowed, near(t)); }},
          {"cached", 3, true, 4, cached}};
}

void print_table(const std::vector<Form>& all) {
  fmt::print(
      "One head of {} numbers, f32, one thread. Forward and backward; of the cached token forward alone.\n\n",
      d);
  fmt::print("{:>24} {:>7} {:>12} {:>10} {:>7} {:>12} {:>7}\n", "", "T", "operations", "ms", "growth",
             "memory KiB", "growth");
  for (const Form& form : all) {
    const double each = form.operations * d;
    const Cost* before = nullptr;
    for (const auto& [time, cost] : form.measured) {
      const auto growth = [&](double now, double then) {
        return before ? fmt::format("{:.2f}", std::log2(now / then)) : "";
      };
      fmt::print("{:>24} {:>7} {:>12.3g} {:>10.3f} {:>7} {:>12.0f} {:>7}\n", form.name, time,
                 each * cost.pairs, 1e3 * cost.seconds, growth(cost.seconds, before ? before->seconds : 1),
                 cost.bytes / 1024, growth(cost.bytes, before ? before->bytes : 1));
      before = &cost;
    }
    fmt::print("\n");
  }
  fmt::print("Growth is the exponent over the last doubling: 1 is linear in T, 2 is quadratic.\n");
}

// The exponent of T over the last two doublings.
double slope(const Form& form) {
  const std::size_t last = form.measured.size() - 1;
  return std::log2(form.measured[last].second.seconds / form.measured[last - 2].second.seconds) / 2;
}

void draw(const std::vector<Form>& all, const std::filesystem::path& folder) {
  chart::Chart figure{.title = "Time of attention over the length of the text, one head, one thread",
                      .x_title = "tokens T",
                      .y_title = "ms",
                      .log_x = true,
                      .log_y = true};
  for (const Form& form : all) {
    chart::Series series{.name = fmt::format("{}: T^{:.1f}", form.name, slope(form)),
                         .color = form.color,
                         .dashed = form.dashed};
    for (const auto& [time, cost] : form.measured) series.points.push_back({time, 1e3 * cost.seconds});
    figure.series.push_back(series);
  }
  chart::write(folder / "cost.svg", figure);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    set_num_threads(1);
    std::vector<Form> all = forms();
    for (Form& form : all) {
      for (std::int64_t time = 256; time <= 16384; time *= 2) {
        if (form.color == 1 && time > longest_textbook) break;
        form.measured.emplace_back(static_cast<double>(time), form.cost(time));
      }
    }
    print_table(all);
    draw(all, count > 1 ? arguments[1] : ".");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cost: {}\n", error.what());
    return 1;
  }
}
