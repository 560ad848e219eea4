#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/check/function.h>
#include <heed/check/isolation_probe.h>
#include <heed/core/arguments.h>
#include <heed/core/backward.h>
#include <heed/core/draw_log.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>
#include <heed/ops/cast.h>
#include <heed/ops/where.h>

namespace heed::check {
namespace {

constexpr double large = 1000;

double root_mean_square(const Tensor& x) {
  double squares = 0;
  for (const double v : numbers_of(x)) squares += v * v;
  const double size = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(x.numel(), 1)));
  return size > 0 && std::isfinite(size) ? size : 1;
}

// Random tokens, each different from that of x.
Tensor other_tokens(const Tensor& x, std::int64_t vocab_size, Generator& generator) {
  std::vector<std::int64_t> tokens = cast(x, DType::i64).to_vector<std::int64_t>();
  const auto steps = randint(1, vocab_size, x.shape(), generator).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = (tokens[i] + steps[i]) % vocab_size;
  return cast(from_span(std::span<const std::int64_t>(tokens), x.shape()), x.dtype());
}

std::int64_t vocab_size_of(const std::string& check, const Tensor& x, const IsolationOptions& options) {
  const std::vector<std::int64_t> tokens = cast(x, DType::i64).to_vector<std::int64_t>();
  const std::int64_t largest = tokens.empty() ? 0 : *std::max_element(tokens.begin(), tokens.end());
  if (options.vocab_size == 0) {
    check_value(largest >= 1, check, "largest token of x", largest, "at least 1: another one to replace by");
    return largest + 1;
  }
  check_value(options.vocab_size >= 2 && options.vocab_size > largest, check, "vocab_size",
              options.vocab_size, "more than the largest token of x, and at least 2");
  return options.vocab_size;
}

// The axes of x as the options name them, or those of y.
SequenceAxes axes_of(const std::string& check, const IsolationOptions& options, bool of_output) {
  const SequenceAxes axes{
      of_output ? options.output_batch_axis.value_or(options.batch_axis) : options.batch_axis,
      of_output ? options.output_time_axis.value_or(options.time_axis) : options.time_axis};
  const char* name = of_output ? "output_time_axis" : "time_axis";
  check_value(axes.time >= 0 && axes.time != axes.batch, check, name, std::int64_t{axes.time},
              "at least 0, and another axis than that of the samples");
  check_value(axes.batch >= IsolationOptions::no_axis, check, of_output ? "output_batch_axis" : "batch_axis",
              std::int64_t{axes.batch}, "at least 0, or no_axis");
  return axes;
}

SequenceGrid grid_of(const std::string& check, const Tensor& x, const SequenceAxes& axes) {
  check_dtype(check, "x", x, {DType::i32, DType::i64, DType::f32, DType::f64});
  check_rank(check, "x", x, std::max(axes.batch, axes.time) + 1);
  return {axes.batch == IsolationOptions::no_axis ? 1 : x.size(axes.batch), x.size(axes.time)};
}

bool has_places(const Shape& shape, const SequenceAxes& axes, const SequenceGrid& grid) {
  if (shape.rank() <= std::max(axes.batch, axes.time) || shape[axes.time] != grid.positions) return false;
  return axes.batch == IsolationOptions::no_axis ? grid.samples == 1 : shape[axes.batch] == grid.samples;
}

std::string expected_of(const SequenceGrid& grid, const SequenceAxes& x, const SequenceAxes& y) {
  if (x.batch == y.batch && x.time == y.time && x.batch != IsolationOptions::no_axis) {
    return fmt::format("equal sizes of axes {} and {}", x.batch, x.time);
  }
  return fmt::format("{} samples on axis {} and {} positions on axis {} of y", grid.samples, y.batch,
                     grid.positions, y.time);
}

// Halves the set of places as long as one half is enough, and returns the first place that is left.
template <class Enough>
std::int64_t first_that_is_enough(Places places, const Enough& is_enough) {
  for (auto count = std::count(places.begin(), places.end(), true); count > 1;) {
    Places halves[2] = {places, places};
    std::int64_t seen = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (places[p]) halves[seen++ < count / 2 ? 1 : 0][p] = false;
    }
    const auto half = std::find_if(std::begin(halves), std::end(halves), is_enough);
    if (half == std::end(halves)) break;  // only several places together are enough
    places = *half;
    count = std::count(places.begin(), places.end(), true);
  }
  return first_of(places);
}

bool any(const Places& places) { return std::find(places.begin(), places.end(), true) != places.end(); }

}  // namespace

IsolationProbe::IsolationProbe(std::string check, const SequenceModel& model, const Tensor& x,
                               const IsolationOptions& options)
    : check_(std::move(check)),
      model_(model),
      x_(x.detach()),
      options_(options),
      x_axes_(axes_of(check_, options, false)),
      y_axes_(axes_of(check_, options, true)),
      grid_(grid_of(check_, x, x_axes_)) {
  if (is_floating(x.dtype())) {
    size_ = root_mean_square(x_);
  } else {
    options_.vocab_size = vocab_size_of(check_, x_, options);
  }
  plain_ = run(x_);
  if (!has_places(plain_.shape(), y_axes_, grid_)) {
    fail<ShapeError>(check_, "the model's output has other samples or positions than x",
                     fmt::format("x is {} and y is {}", x.shape().str(), plain_.shape().str()),
                     expected_of(grid_, x_axes_, y_axes_));
  }
  trace_ = trace_of(model_, x_);
  if (!trace_.y.requires_grad()) return;
  Generator generator(options_.seed + 1);
  noise_ = randn(plain_.shape(), generator, plain_.dtype());
  if (is_floating(x.dtype())) {
    sources_.push_back(source_of_leaf(trace_, grid_, x_axes_));
  } else {
    sources_ = sources_of_tokens(model_, trace_, grid_,
                                 [&](const Places& places) { return moved(Plant::other, 0, places); });
  }
}

Tensor IsolationProbe::run(const Tensor& x) const {
  const NoGrad guard;
  return model_(x);
}

bool IsolationProbe::draws() const {
  DrawLog log;
  const RecordDraws recording(log);
  run(x_);
  return !log.empty();
}

Tensor IsolationProbe::replacement(std::uint64_t number, double size) const {
  Generator generator(options_.seed + 2 * number);
  if (!is_floating(x_.dtype())) return other_tokens(x_, options_.vocab_size, generator);
  return randn(x_.shape(), generator, x_.dtype(), 0, size);
}

Tensor IsolationProbe::moved(Plant plant, std::uint64_t number, const Places& places) const {
  const NoGrad guard;
  const Tensor there = grid_.mask_of(places, x_.shape(), x_axes_);
  if (plant == Plant::nan) return where(there, std::numeric_limits<double>::quiet_NaN(), x_);
  return where(there, replacement(number, plant == Plant::large ? large * size_ : size_), x_);
}

Tensor IsolationProbe::noise_on(const Places& places) const {
  const NoGrad guard;
  return where(grid_.mask_of(places, noise_.shape(), y_axes_), noise_, 0.0);
}

std::string IsolationProbe::problem() const {
  const std::string difference = difference_between("output", {plain_}, {run(x_)});
  if (!difference.empty()) return "two calls with the same x differ: " + difference;
  if (!any(changed_places(moved(Plant::other, 0, grid_.all())))) {
    return "the output does not depend on x at all, so no leak could be seen";
  }
  return {};
}

std::string IsolationProbe::obstacle(IsolationWay way) const {
  if (way == IsolationWay::planted_nan && !is_floating(x_.dtype())) return "token ids cannot be NaN";
  if (way != IsolationWay::gradient) return {};
  if (!trace_.y.requires_grad()) return "the output has no history";
  return sources_.empty() ? "nothing on the tape begins with the tokens, such as an embedding of them" : "";
}

Places IsolationProbe::changed_places(const Tensor& x) const {
  const std::vector<bool> differs = differing(plain_, run(x));
  Places places = grid_.none();
  for (std::size_t e = 0; e < differs.size(); ++e) {
    if (!differs[e]) continue;
    places[static_cast<std::size_t>(grid_.place_of(plain_.shape(), y_axes_, static_cast<std::int64_t>(e)))] =
        true;
  }
  return places;
}

Places IsolationProbe::zero_places() const {
  Places places = grid_.all();
  const std::vector<double> y = numbers_of(plain_);
  for (std::size_t e = 0; e < y.size(); ++e) {
    if (y[e] == 0) continue;
    places[static_cast<std::size_t>(grid_.place_of(plain_.shape(), y_axes_, static_cast<std::int64_t>(e)))] =
        false;
  }
  return places;
}

// The kept places of y that change with `places` of x. Where the planted values are large and finite, a
// result that is not finite is an overflow and does not count as a change.
Places IsolationProbe::heard(Plant plant, const IsolationQuestion& question, const Places& places) const {
  const Tensor y = run(moved(plant, question.number, places));
  const std::vector<bool> differs = differing(plain_, y);
  const std::vector<double> values = plant == Plant::large ? numbers_of(y) : std::vector<double>();
  Places heard = grid_.none();
  for (std::size_t e = 0; e < differs.size(); ++e) {
    if (!differs[e] || (!values.empty() && !std::isfinite(values[e]))) continue;
    const auto place =
        static_cast<std::size_t>(grid_.place_of(plain_.shape(), y_axes_, static_cast<std::int64_t>(e)));
    heard[place] = heard[place] || question.kept[place];
  }
  return heard;
}

// The forbidden places of x where the vector-Jacobian product of the kept places of y is not zero; a NaN
// counts as not zero.
Places IsolationProbe::gradient_places(const Places& kept, const Places& forbidden) const {
  std::vector<Tensor> inputs;
  for (const IsolationSource& source : sources_) inputs.push_back(source.tensor);
  const auto gradients = grad(std::span(&trace_.y, 1), inputs,
                              {.grad_outputs = {noise_on(kept)}, .retain_graph = true, .allow_unused = true});
  Places reached = grid_.none();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const IsolationSource& source = sources_[i];
    const std::vector<bool> meets = source.meets(forbidden);
    const std::vector<double> dx = numbers_of(gradients[i]);
    for (std::size_t e = 0; e < dx.size(); ++e) {
      const std::int32_t owner = source.owners[e];
      if (dx[e] == 0 || owner < 0 || !meets[static_cast<std::size_t>(owner)]) continue;
      for (const std::int64_t p : source.sets[static_cast<std::size_t>(owner)]) {
        const auto place = static_cast<std::size_t>(p);
        reached[place] = reached[place] || forbidden[place];
      }
    }
  }
  return reached;
}

std::vector<Plant> IsolationProbe::plants_of(IsolationWay way) const {
  if (way == IsolationWay::planted_nan) return {Plant::nan};
  if (is_floating(x_.dtype())) return {Plant::other, Plant::large};
  return {Plant::other};
}

bool IsolationProbe::leaks(IsolationWay way, const IsolationQuestion& question) const {
  if (way == IsolationWay::gradient) return any(gradient_places(question.kept, question.forbidden));
  const std::vector<Plant> plants = plants_of(way);
  return std::any_of(plants.begin(), plants.end(),
                     [&](Plant plant) { return any(heard(plant, question, question.forbidden)); });
}

IsolationLeak IsolationProbe::first_leak_by_gradient(const IsolationQuestion& question) const {
  const SequencePlace to = grid_.place(first_that_is_enough(
      question.kept, [&](const Places& some) { return any(gradient_places(some, question.forbidden)); }));
  const Places from = gradient_places(grid_.only(to), question.forbidden);
  return {grid_.place(first_of(from)), to, Plant::other};
}

IsolationLeak IsolationProbe::first_leak(IsolationWay way, const IsolationQuestion& question) const {
  if (way == IsolationWay::gradient) return first_leak_by_gradient(question);
  for (const Plant plant : plants_of(way)) {
    const Places reached = heard(plant, question, question.forbidden);
    if (!any(reached)) continue;
    const SequencePlace to = grid_.place(first_of(reached));
    const IsolationQuestion only{question.number, question.forbidden, grid_.only(to), question.mutual};
    const std::int64_t from = first_that_is_enough(
        question.forbidden, [&](const Places& some) { return any(heard(plant, only, some)); });
    return {grid_.place(from), to, plant};
  }
  return {};
}

}  // namespace heed::check
