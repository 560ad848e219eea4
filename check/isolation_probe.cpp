#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <heed/check/function.h>
#include <heed/check/isolation_probe.h>
#include <heed/check/isolation_tape.h>
#include <heed/core/backward.h>
#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/node.h>
#include <heed/core/random.h>
#include <heed/ops/cast.h>
#include <heed/ops/where.h>

namespace heed::check {
namespace {

Tensor mask_of(const Places& places, const SequenceGrid& grid, const Shape& shape) {
  Tensor mask = empty(shape, DType::boolean);
  bool* m = mask.mutable_data<bool>();
  for (std::int64_t e = 0; e < mask.numel(); ++e) {
    m[e] = places[static_cast<std::size_t>(grid.place_of(shape, e))];
  }
  return mask;
}

// As large as x, and nowhere equal to it.
Tensor other_numbers(const Tensor& x, Generator& generator) {
  double squares = 0;
  for (const double v : numbers_of(x)) squares += v * v;
  const double size = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(x.numel(), 1)));
  return randn(x.shape(), generator, x.dtype(), 0, size > 0 && std::isfinite(size) ? size : 1);
}

Tensor other_tokens(const std::string& check, const Tensor& x, Generator& generator) {
  std::vector<std::int64_t> tokens = cast(x, DType::i64).to_vector<std::int64_t>();
  const std::int64_t largest = tokens.empty() ? 0 : *std::max_element(tokens.begin(), tokens.end());
  check_value(largest >= 1, check, "largest token of x", largest, "at least 1: another one to replace by");
  const auto steps = randint(1, largest + 1, x.shape(), generator).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = (tokens[i] + steps[i]) % (largest + 1);
  return cast(from_span(std::span<const std::int64_t>(tokens), x.shape()), x.dtype());
}

SequenceGrid grid_of(const std::string& check, const Tensor& x, int time_axis) {
  check_dtype(check, "x", x, {DType::i32, DType::i64, DType::f32, DType::f64});
  check_value(time_axis >= 1, check, "time_axis", std::int64_t{time_axis},
              "at least 1; axis 0 counts the samples");
  check_rank(check, "x", x, time_axis + 1);
  return {x.size(0), x.size(time_axis), time_axis};
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

std::int64_t SequenceGrid::place_of(const Shape& shape, std::int64_t element) const {
  std::int64_t behind = 1;  // elements of one position
  for (int axis = time_axis + 1; axis < shape.rank(); ++axis) behind *= shape[axis];
  std::int64_t of_sample = behind * positions;
  for (int axis = 1; axis < time_axis; ++axis) of_sample *= shape[axis];
  return element / of_sample * positions + element / behind % positions;
}

IsolationProbe::IsolationProbe(std::string check, const SequenceModel& model, const Tensor& x,
                               const IsolationOptions& options)
    : check_(std::move(check)),
      model_(model),
      x_(x.detach()),
      seed_(options.seed),
      grid_(grid_of(check_, x, options.time_axis)) {
  Generator generator(seed_);
  replacement_ = is_floating(x.dtype()) ? other_numbers(x_, generator) : other_tokens(check_, x_, generator);
  const Tensor y = run(x_);
  shape_ = y.shape();
  if (y.rank() <= grid_.time_axis || y.size(0) != grid_.samples ||
      y.size(grid_.time_axis) != grid_.positions) {
    fail<ShapeError>(check_, "the model's output has other samples or positions than x",
                     fmt::format("x is {} and y is {}", x.shape().str(), shape_.str()),
                     fmt::format("equal sizes of axes 0 and {}", grid_.time_axis));
  }
  plain_ = numbers_of(y);
  record_once();
}

void IsolationProbe::record_once() {
  const GradMode mode(true);
  Tensor x = copy_of(x_);
  if (is_floating(x.dtype())) {
    x.set_requires_grad();
    sources_.push_back({x, x.shape()});
  }
  recorded_ = model_(x);
  if (is_floating(x.dtype()) || !recorded_.requires_grad()) return;
  for (const Tensor& result : results_on_tape(recorded_)) {
    const bool looked_up = std::string_view(result.impl()->node->op()) == "embedding";
    if (!looked_up || result.rank() != 2 || result.size(0) != grid_.size()) continue;
    sources_.push_back({result, {grid_.samples, grid_.positions, result.size(1)}});
  }
}

Tensor IsolationProbe::run(const Tensor& x) const {
  const NoGrad guard;
  return model_(x);
}

Tensor IsolationProbe::on(const Places& places, const Tensor& inside, const Tensor& outside) const {
  const NoGrad guard;
  return where(mask_of(places, grid_, outside.shape()), inside, outside);
}

Tensor IsolationProbe::noise_on(const Places& places, const Shape& shape, DType dtype) const {
  Generator generator(seed_ + 1);
  return on(places, randn(shape, generator, dtype), zeros(shape, dtype));
}

std::string IsolationProbe::problem() const {
  const Tensor y = run(x_);
  const Tensor again = run(x_);
  const std::string difference = difference_between("output", {y}, {again});
  if (!difference.empty()) return "two calls with the same x differ: " + difference;
  if (!output_changes(replacement_, Places(static_cast<std::size_t>(grid_.size()), true))) {
    return "the output does not depend on x at all, so no leak could be seen";
  }
  return {};
}

std::string IsolationProbe::obstacle(IsolationWay way) const {
  if (way == IsolationWay::planted_nan && !is_floating(x_.dtype())) return "token ids cannot be NaN";
  if (way != IsolationWay::gradient) return {};
  if (!recorded_.requires_grad()) return "the output has no history";
  return sources_.empty() ? "no embedding of the tokens is on the tape" : "";
}

bool IsolationProbe::output_changes(const Tensor& x, const Places& kept) const {
  const std::vector<double> y = numbers_of(run(x));
  for (std::size_t e = 0; e < y.size(); ++e) {
    const auto place = grid_.place_of(shape_, static_cast<std::int64_t>(e));
    if (kept[static_cast<std::size_t>(place)] && !same_bits(y[e], plain_[e])) return true;
  }
  return false;
}

bool IsolationProbe::gradient_reaches(const IsolationQuestion& question) const {
  std::vector<Tensor> inputs;
  for (const IsolationSource& source : sources_) inputs.push_back(source.tensor);
  const auto gradients = grad(std::span(&recorded_, 1), inputs,
                              {.grad_outputs = {noise_on(question.kept, shape_, recorded_.dtype())},
                               .retain_graph = true,
                               .allow_unused = true});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const std::vector<double> dx = numbers_of(gradients[i]);
    for (std::size_t e = 0; e < dx.size(); ++e) {
      const auto place = grid_.place_of(sources_[i].shape, static_cast<std::int64_t>(e));
      if (question.forbidden[static_cast<std::size_t>(place)] && dx[e] != 0) return true;  // NaN too
    }
  }
  return false;
}

bool IsolationProbe::leaks(IsolationWay way, const IsolationQuestion& question) const {
  switch (way) {
    case IsolationWay::planted_nan: {
      const Tensor nan = full(x_.shape(), std::numeric_limits<double>::quiet_NaN(), x_.dtype());
      return output_changes(on(question.forbidden, nan, x_), question.kept);
    }
    case IsolationWay::gradient:
      return gradient_reaches(question);
    case IsolationWay::replacement:
      break;
  }
  return output_changes(on(question.forbidden, replacement_, x_), question.kept);
}

// One by one: first the places of y, then those of x.
std::pair<SequencePlace, SequencePlace> IsolationProbe::first_pair(IsolationWay way,
                                                                   const IsolationQuestion& question) const {
  const auto first = [&](const Places& candidates, const auto& leaks_with) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i]) continue;
      last = i;
      Places one(candidates.size(), false);
      one[i] = true;
      if (leaks_with(one)) break;
    }
    return last;
  };
  const std::size_t to = first(question.kept, [&](const Places& one) {
    return leaks(way, {question.forbidden, one});
  });
  Places only(question.kept.size(), false);
  only[to] = true;
  const std::size_t from = first(question.forbidden, [&](const Places& one) {
    return leaks(way, {one, only});
  });
  return {grid_.place(static_cast<std::int64_t>(from)), grid_.place(static_cast<std::int64_t>(to))};
}

}  // namespace heed::check
