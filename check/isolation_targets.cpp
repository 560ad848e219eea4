#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/check/function.h>
#include <heed/check/isolation_targets.h>
#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {
namespace {

constexpr const char* targets_op = "check_targets";
using Text = std::vector<std::int64_t>;

class TargetsProbe {
 public:
  TargetsProbe(const TokenLosses& losses, const Tensor& tokens, std::int64_t vocab_size, std::uint64_t seed)
      : losses_(losses), vocab_size_(vocab_size) {
    const Text all = tokens.to_vector<std::int64_t>();
    text_.assign(all.begin(), all.begin() + tokens.size(1));
    Generator generator(seed);
    steps_ = randint(1, vocab_size, {tokens.size(1)}, generator).to_vector<std::int64_t>();
  }

  std::int64_t positions() const { return static_cast<std::int64_t>(text_.size()) - 1; }

  std::string problem() const {
    const std::string difference = difference_between("losses", {of({text_})}, {of({text_})});
    return difference.empty() ? "" : "two calls with the same tokens differ: " + difference;
  }

  /// Whether loss t, or one before it, depends on a token after t+1.
  bool hears_ahead(std::int64_t t) const {
    Text other = text_;
    for (auto i = static_cast<std::size_t>(t + 2); i < other.size(); ++i) {
      other[i] = (other[i] + steps_[i]) % vocab_size_;
    }
    const auto until = [&](const Tensor& losses) {
      std::vector<double> row = numbers_of(losses);
      row.resize(static_cast<std::size_t>(t + 1));
      return tensor_of(row);
    };
    return !difference_between("losses", {until(of({text_}))}, {until(of({other}))}).empty();
  }

  /// Loss t with each token of the vocabulary in the place of token t+1.
  std::vector<double> by_token(std::int64_t t, double& epsilon) const {
    std::vector<Text> rows(static_cast<std::size_t>(vocab_size_), text_);
    for (std::int64_t v = 0; v < vocab_size_; ++v) {
      rows[static_cast<std::size_t>(v)][static_cast<std::size_t>(t + 1)] = v;
    }
    const Tensor losses = of(rows);
    epsilon = epsilon_of(losses.dtype());
    const std::vector<double> all = numbers_of(losses);
    std::vector<double> result;
    for (std::int64_t v = 0; v < vocab_size_; ++v) {
      result.push_back(all[static_cast<std::size_t>(v * positions() + t)]);
    }
    return result;
  }

 private:
  static Tensor tensor_of(const std::vector<double>& values) {
    return from_span(std::span<const double>(values), {static_cast<std::int64_t>(values.size())});
  }

  Tensor of(const std::vector<Text>& rows) const {
    const NoGrad guard;
    Text flat;
    for (const Text& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    const auto samples = static_cast<std::int64_t>(rows.size());
    const Tensor losses = losses_(from_span(std::span<const std::int64_t>(flat), {samples, positions() + 1}));
    check_floating(targets_op, "losses", losses);
    check_shape(targets_op, "losses", losses, {samples, positions()},
                "one loss for each token but the first");
    return losses;
  }

  const TokenLosses& losses_;
  std::int64_t vocab_size_;
  Text text_;
  Text steps_;
};

void examine(TargetsResult& result, const TargetsProbe& probe, std::int64_t t) {
  double epsilon = 0;
  const std::vector<double> losses = probe.by_token(t, epsilon);
  double total = 0;
  for (const double loss : losses) total += std::exp(-loss);
  const bool unheard = std::all_of(losses.begin(), losses.end(), [&](double l) { return l == losses[0]; });
  const bool ahead = probe.hears_ahead(t);
  const bool improper = !(std::abs(total - 1) <= 64 * epsilon);
  if (result.passed && (unheard || ahead || improper)) result.first = t;
  ++result.positions;
  result.unheard += unheard;
  result.ahead += ahead;
  result.improper += improper;
  if (!(std::abs(total - 1) <= std::abs(result.worst_total - 1))) result.worst_total = total;
  result.passed = result.passed && !unheard && !ahead && !improper;
}

}  // namespace

TargetsResult check_targets(const TokenLosses& losses, const Tensor& tokens, std::int64_t vocab_size,
                            const TargetsOptions& options) {
  check_dtype(targets_op, "tokens", tokens, {DType::i64});
  check_rank(targets_op, "tokens", tokens, 2, 2);
  check_value(tokens.size(0) >= 1, targets_op, "sequences of tokens", tokens.size(0), "at least 1");
  check_value(tokens.size(1) >= 2, targets_op, "length of tokens", tokens.size(1), "at least 2");
  check_value(vocab_size >= 2, targets_op, "vocab_size", vocab_size, "at least 2");
  check_value(options.max_positions >= 1, targets_op, "max_positions", options.max_positions, "at least 1");
  check_indices(targets_op, "tokens", tokens, vocab_size);
  const TargetsProbe probe(losses, tokens, vocab_size, options.seed);
  TargetsResult result{.problem = probe.problem()};
  result.passed = result.problem.empty();
  if (!result.passed) return result;
  const std::int64_t count = std::min(probe.positions(), options.max_positions);
  for (std::int64_t i = 0; i < count; ++i) {
    examine(result, probe, count == 1 ? 0 : i * (probe.positions() - 1) / (count - 1));
  }
  return result;
}

std::string TargetsResult::report() const {
  if (!problem.empty()) return fmt::format("{}: nothing proven; {}", targets_op, problem);
  if (passed) {
    return fmt::format(
        "{}: passed, at {} positions the loss is a probability of the next token, given those before "
        "it; Σ p = 1 to {:.1e}",
        targets_op, positions, std::abs(worst_total - 1));
  }
  std::string text = fmt::format("{}: failed at position {} first", targets_op, first);
  const auto add = [&](std::int64_t n, const std::string& what) {
    if (n > 0) text += fmt::format("\n  {} of {} positions: {}", n, positions, what);
  };
  add(unheard, "the loss does not change with the next token; it has another target");
  add(ahead, "the loss hears tokens behind the next one");
  add(improper,
      fmt::format("the probabilities of all next tokens add up to {:.6g}, not to 1; the prediction hears its "
                  "target, or the loss is no probability",
                  worst_total));
  return text;
}

std::string TargetsResult::to_json() const {
  using Json = nlohmann::ordered_json;
  const Json total = std::isfinite(worst_total) ? Json(worst_total) : Json(fmt::format("{}", worst_total));
  const Json json = {{"check", targets_op},    {"passed", passed},   {"problem", problem},
                     {"positions", positions}, {"unheard", unheard}, {"ahead", ahead},
                     {"improper", improper},   {"first", first},     {"worst_total", total}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace heed::check
