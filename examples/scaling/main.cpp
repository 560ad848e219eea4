// Why attention divides by √d: what the logits q·k do to the softmax, measured against theory, and what that
// does to training.
//
//   scaling [folder]    prints two tables and writes scaling_softmax.svg and scaling_training.svg there

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <heed/heed.h>

#include "../chart/chart.h"

using namespace heed;

namespace {

constexpr std::int64_t queries = 512;
constexpr std::int64_t keys = 64;

// 1. What logits of variance d do to the softmax, and to the gradient that goes back through it.
struct Measured {
  double variance;  // of the logits
  double largest;   // mean of the largest weight of a query
  double entropy;   // mean, in nats
  double gradient;  // ‖Jᵀu‖ through the softmax for random u, root of the mean square over queries
  double predicted;  // the same from P alone:  ‖J‖² = Σ P² (1 − 2P) + (Σ P²)²  for J = diag(P) − P Pᵀ
  double median;  // of ‖Jᵀu‖: what half of the queries do not reach
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Measured measure(std::int64_t d, double scale) {
  Generator random(static_cast<std::uint64_t>(d));
  const Tensor q = randn({queries, d}, random, DType::f64);
  const Tensor k = randn({keys, d}, random, DType::f64);
  Tensor logits = matmul(q, transpose(k)) * scale;
  logits.set_requires_grad();
  const Tensor P = softmax(logits);
  const Tensor u = randn(P.shape(), random, DType::f64);
  const Tensor through = vector_norm(grad(P, logits, {.grad_outputs = {u}}), 2, {-1});
  const Tensor frobenius = sum(square(P) * (1 - 2 * P), {-1}) + square(sum(square(P), {-1}));
  return {
      .variance = variance(logits).item<double>(),
      .largest = mean(amax(P, {-1})).item<double>(),
      .entropy = mean(attention(q, k, k, {.scale = scale, .need_statistics = true}).entropy).item<double>(),
      .gradient = std::sqrt(mean(square(through)).item<double>()),
      .predicted = std::sqrt(mean(frobenius).item<double>()),
      .median = median_of(through.to_vector<double>())};
}

void show_softmax(const std::filesystem::path& folder) {
  fmt::print("Entries of q and k have variance 1; {} queries, {} keys, ln {} = {:.2f} nats.\n\n", queries,
             keys, keys, std::log(keys));
  fmt::print("{:>5} | {:>18} | {:>40} | {:>40}\n", "", "variance of q·k", "softmax(q·k)",
             "softmax(q·k / √d)");
  fmt::print(
      "{0:>5} | {1:>9} {2:>8} | {3:>7} {4:>7} {5:>8} {2:>7} {6:>7} | {3:>7} {4:>7} {5:>8} {2:>7} {6:>7}\n",
      "d", "measured", "theory", "largest", "entropy", "gradient", "median");
  chart::Series plain{.name = "without 1/√d", .color = 1};
  chart::Series scaled{.name = "with 1/√d", .color = 0};
  const auto columns = [](const Measured& m) {
    return fmt::format("{:>7.3f} {:>7.3f} {:>8.4f} {:>7.4f} {:>7.4f}", m.largest, m.entropy, m.gradient,
                       m.predicted, m.median);
  };
  for (std::int64_t d = 4; d <= 1024; d *= 2) {
    const auto size = static_cast<double>(d);
    const Measured without = measure(d, 1);
    const Measured with = measure(d, 1 / std::sqrt(size));
    fmt::print("{:>5} | {:>9.1f} {:>8} | {} | {}\n", d, without.variance, d, columns(without), columns(with));
    plain.points.push_back({size, without.median});
    scaled.points.push_back({size, with.median});
  }
  chart::write(folder / "scaling_softmax.svg",
               {.title = "What half of the queries get back through the softmax",
                .x_title = "d",
                .y_title = "median of ‖Jᵀu‖",
                .log_x = true,
                .log_y = true,
                .series = {plain, scaled}});
}

// 2. What that does to training. A task that only attention solves: which of 16 keys is the (noisy) query?
//    The answer is that key's value.
struct Task {
  Tensor x, keys, values, target;
};

Task draw_task(std::int64_t d, Generator& random) {
  constexpr std::int64_t batch = 64, items = 16, width = 8;
  Task task;
  task.keys = randn({batch, items, d}, random);
  task.values = randn({batch, items, width}, random);
  task.x = narrow(task.keys, 1, 0, 1) + randn({batch, 1, d}, random) * 0.5;
  task.target = narrow(task.values, 1, 0, 1);
  return task;
}

// Loss at each step of a model of two matrices, q = x W_qᵀ and k = key W_kᵀ. Entries of q and k start
// with variance 1.
std::vector<double> train_model(std::int64_t d, double scale, double lr) {
  Generator random(7);
  const double deviation = 1 / std::sqrt(static_cast<double>(d));
  const Tensor wq = nn::normal_parameter({d, d}, random, deviation);
  const Tensor wk = nn::normal_parameter({d, d}, random, deviation);
  heed::optim::AdamW optimizer(nn::NamedTensors{{"wq", wq}, {"wk", wk}}, {.lr = lr, .weight_decay = 0});
  std::vector<double> losses;
  for (int step = 0; step < 200; ++step) {
    const Task task = draw_task(d, random);
    const Tensor q = linear(task.x, wq);
    const Tensor k = linear(task.keys, wk);
    const Tensor loss = mean(square(attention(q, k, task.values, {.scale = scale}).output - task.target));
    backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

// First step from which ten losses in a row have a mean below a tenth; −1 if there is none.
int step_of_success(const std::vector<double>& losses) {
  for (std::size_t i = 0; i + 10 <= losses.size(); ++i) {
    if (std::accumulate(losses.begin() + static_cast<std::ptrdiff_t>(i),
                        losses.begin() + static_cast<std::ptrdiff_t>(i + 10), 0.0) < 1) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void show_training(const std::filesystem::path& folder) {
  constexpr std::int64_t d = 256;
  constexpr double drawn_rate = 1e-3;
  fmt::print("\nA model that learns to find one of 16 keys, d = {}; an answer of zeros has a loss of 1.\n\n",
             d);
  fmt::print("{:>13} | {:>21} | {:>21}\n{:>13} | {:>9} {:>11} | {:>9} {:>11}\n", "", "without 1/√d",
             "with 1/√d", "learning rate", "loss at 0", "below 0.1 at", "loss at 0", "below 0.1 at");
  const auto cells = [](const std::vector<double>& losses) {
    const int step = step_of_success(losses);
    return fmt::format("{:>9.2f} {:>12}", losses[0], step < 0 ? "never" : fmt::format("{}", step));
  };
  chart::Chart figure{.title = "The same model, the same steps: learning to find a key",
                      .x_title = "step",
                      .y_title = "loss"};
  for (const double lr : {3e-4, drawn_rate, 3e-3, 1e-2}) {
    const std::vector<double> without = train_model(d, 1, lr);
    const std::vector<double> with = train_model(d, 1 / std::sqrt(static_cast<double>(d)), lr);
    fmt::print("{:>13} | {} | {}\n", lr, cells(without), cells(with));
    if (lr == drawn_rate) {
      figure.series = {{"without 1/√d", 1, chart::by_step(without)}, {"with 1/√d", 0, chart::by_step(with)}};
    }
  }
  chart::write(folder / "scaling_training.svg", figure);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::filesystem::path folder = chart::figure_folder(count, arguments);
    show_softmax(folder);
    show_training(folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "scaling: {}\n", error.what());
    return 1;
  }
}
