#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/attention/mask/positions.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/reshape.h>
#include <heed/ops/rounding.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/where.h>

namespace heed {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

void append(std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Tensor both(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : logical_and(a, b);
}
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : add(a, b); }

}  // namespace

std::int64_t AttentionMask::samples_of(const Shape& scores) {
  return scores.rank() > 3 ? scores[scores.rank() - 4] : 1;
}

AttentionMask AttentionMask::causal() {
  AttentionMask mask;
  mask.causal_ = true;
  return mask;
}

AttentionMask AttentionMask::window(std::int64_t left, std::int64_t right) {
  check_value(left >= -1, "window", "left", left, "left >= -1");
  check_value(right >= -1, "window", "right", right, "right >= -1");
  AttentionMask mask;
  mask.windows_.push_back({left, right});
  return mask;
}

AttentionMask AttentionMask::attend(Tensor mask) {
  check_dtype("attend", "mask", mask, {DType::boolean});
  AttentionMask result;
  result.attend_.push_back(std::move(mask));
  return result;
}

AttentionMask AttentionMask::ignore(Tensor mask) {
  check_dtype("ignore", "mask", mask, {DType::boolean});
  AttentionMask result = attend(logical_not(mask));
  result.ignored_.push_back(mask.shape());
  return result;
}

AttentionMask AttentionMask::bias(Tensor bias) {
  check_floating("bias", "bias", bias);
  AttentionMask mask;
  mask.bias_.push_back(std::move(bias));
  return mask;
}

AttentionMask AttentionMask::key_lengths(Tensor lengths) {
  check_dtype("key_lengths", "lengths", lengths, {DType::i32, DType::i64});
  check_rank("key_lengths", "lengths", lengths, 1, 1);
  AttentionMask mask;
  mask.key_lengths_.push_back(std::move(lengths));
  return mask;
}

AttentionMask AttentionMask::documents(Tensor ids) {
  check_dtype("documents", "ids", ids, {DType::i32, DType::i64});
  check_rank("documents", "ids", ids, 1, 2);
  AttentionMask mask;
  mask.documents_.push_back(std::move(ids));
  return mask;
}

AttentionMask AttentionMask::alibi(Tensor slopes) {
  check_floating("alibi", "slopes", slopes);
  check_rank("alibi", "slopes", slopes, 1, 1);
  AttentionMask mask;
  mask.slopes_.push_back(std::move(slopes));
  return mask;
}

AttentionMask AttentionMask::query_start(std::int64_t position) const {
  AttentionMask mask = *this;
  mask.query_start_ = position;
  mask.query_starts_ = Tensor();
  return mask;
}

AttentionMask AttentionMask::query_start(Tensor positions) const {
  check_dtype("query_start", "positions", positions, {DType::i32, DType::i64});
  check_rank("query_start", "positions", positions, 1, 1);
  AttentionMask mask = *this;
  mask.query_start_.reset();
  mask.query_starts_ = std::move(positions);
  return mask;
}

AttentionMask operator&(AttentionMask a, const AttentionMask& b) {
  if (a.has_query_start() && b.has_query_start()) {
    const bool equal = a.query_start_ && b.query_start_
                           ? *a.query_start_ == *b.query_start_
                           : a.query_starts_.defined() && b.query_starts_.defined() &&
                                 detail::integers_of(a.query_starts_) == detail::integers_of(b.query_starts_);
    const auto text = [](const AttentionMask& m) {
      return m.query_start_ ? fmt::to_string(*m.query_start_) : std::string("one for each sample");
    };
    if (!equal) {
      fail<ValueError>("operator&", "masks differ in query_start", fmt::format("{} and {}", text(a), text(b)),
                       "equal positions");
    }
  }
  if (!a.has_query_start()) {
    a.query_start_ = b.query_start_;
    a.query_starts_ = b.query_starts_;
  }
  a.causal_ |= b.causal_;
  a.windows_.insert(a.windows_.end(), b.windows_.begin(), b.windows_.end());
  append(a.attend_, b.attend_);
  a.ignored_.insert(a.ignored_.end(), b.ignored_.begin(), b.ignored_.end());
  append(a.bias_, b.bias_);
  append(a.key_lengths_, b.key_lengths_);
  append(a.documents_, b.documents_);
  append(a.slopes_, b.slopes_);
  return a;
}

bool AttentionMask::empty() const {
  return !causal_ && windows_.empty() && attend_.empty() && bias_.empty() && key_lengths_.empty() &&
         documents_.empty() && slopes_.empty();
}

AttentionMask AttentionMask::with_additive(Tensor bias, Tensor slopes) const {
  AttentionMask mask = *this;
  mask.bias_.clear();
  mask.slopes_.clear();
  if (bias.defined()) mask.bias_.push_back(std::move(bias));
  if (slopes.defined()) mask.slopes_.push_back(std::move(slopes));
  return mask;
}

Tensor AttentionMask::open_pairs(const Shape& scores) const {
  const NoGrad guard;
  Plan parts;
  parts.first_position = first_positions(scores);
  add_ranges(scores, parts);
  Tensor open = parts.open;
  for (const Tensor& m : attend_) open = both(open, m);
  for (const Tensor& b : bias_) open = both(open, ne(b.detach(), minus_infinity));
  if (!causal_ && windows_.empty() && key_lengths_.empty() && documents_.empty()) return open;

  const std::int64_t queries = scores[scores.rank() - 2];
  const std::int64_t keys = scores[scores.rank() - 1];
  Tensor ranges = zeros({parts.samples, 1, queries, keys}, DType::boolean);
  bool* row = ranges.mutable_data<bool>();
  for (std::size_t i = 0; i < parts.begin.size(); ++i, row += keys) {
    std::fill(row + parts.begin[i], row + std::max(parts.begin[i], parts.end[i]), true);
  }
  return both(open, parts.samples == 1 ? reshape(ranges, {queries, keys}) : ranges);
}

Tensor AttentionMask::distance(const Shape& scores, DType dtype) const {
  const NoGrad guard;
  const std::vector<std::int64_t> first = first_positions(scores);
  const std::int64_t queries = scores[scores.rank() - 2];
  const Tensor starts = from_span(std::span<const std::int64_t>(first),
                                  {static_cast<std::int64_t>(first.size())});  // [samples]
  // In f64, where the sums cannot overflow and those below 2^53 are exact.
  const auto numbers = [](std::int64_t n) { return cast(arange(0, n), DType::f64); };
  const Tensor positions = add(unsqueeze(cast(starts, DType::f64), 1), numbers(queries));  // [samples, Tq]
  const Tensor distance = abs(sub(unsqueeze(positions, -1), numbers(scores[scores.rank() - 1])));
  if (first.size() == 1) return cast(squeeze(distance, 0), dtype);
  return cast(unsqueeze(distance, 1), dtype);
}

Tensor AttentionMask::additive(const Shape& scores, DType dtype) const {
  Tensor total;
  for (const Tensor& b : bias_) total = plus(total, masked_fill(b, eq(b.detach(), minus_infinity), 0));
  for (const Tensor& slopes : slopes_) {
    total = plus(total, neg(mul(reshape(slopes, {slopes.size(0), 1, 1}), distance(scores, dtype))));
  }
  return total;
}

}  // namespace heed
