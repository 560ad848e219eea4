#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <heed/core/check.h>
#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention_mask.h>
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

// [B] or [B, T] → [B, 1, 1] or [B, 1, T]: beside the axes of heads, queries and keys.
Tensor per_sample(const Tensor& x) { return x.rank() == 1 ? reshape(x, {x.size(0), 1, 1}) : unsqueeze(x, 1); }

}  // namespace

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
  return attend(logical_not(mask));
}

AttentionMask AttentionMask::bias(Tensor bias) {
  check_floating("bias", "bias", bias);
  AttentionMask mask;
  mask.bias_.push_back(std::move(bias));
  return mask;
}

AttentionMask AttentionMask::key_lengths(Tensor lengths) {
  check_dtype("key_lengths", "lengths", lengths, {DType::i64});
  check_rank("key_lengths", "lengths", lengths, 1, 1);
  AttentionMask mask;
  mask.key_lengths_.push_back(std::move(lengths));
  return mask;
}

AttentionMask AttentionMask::documents(Tensor ids) {
  check_dtype("documents", "ids", ids, {DType::i64});
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
  return mask;
}

AttentionMask operator&(AttentionMask a, const AttentionMask& b) {
  if (a.query_start_ && b.query_start_ && a.query_start_ != b.query_start_) {
    fail<ValueError>("operator&", "masks differ in query_start",
                     fmt::format("{} and {}", *a.query_start_, *b.query_start_), "equal positions");
  }
  if (!a.query_start_) a.query_start_ = b.query_start_;
  a.causal_ |= b.causal_;
  a.windows_.insert(a.windows_.end(), b.windows_.begin(), b.windows_.end());
  append(a.attend_, b.attend_);
  append(a.bias_, b.bias_);
  append(a.key_lengths_, b.key_lengths_);
  append(a.documents_, b.documents_);
  append(a.slopes_, b.slopes_);
  return a;
}

bool AttentionMask::only_positional() const {
  return attend_.empty() && bias_.empty() && key_lengths_.empty() && documents_.empty() && slopes_.empty();
}

bool AttentionMask::empty() const { return !causal_ && windows_.empty() && only_positional(); }

bool AttentionMask::requires_grad() const {
  const auto asks = [](const Tensor& x) { return x.requires_grad(); };
  return grad_enabled() &&
         (std::any_of(bias_.begin(), bias_.end(), asks) || std::any_of(slopes_.begin(), slopes_.end(), asks));
}

std::int64_t AttentionMask::first_query(std::int64_t queries, std::int64_t keys) const {
  return query_start_.value_or(keys - queries);
}

AttentionMask::Range AttentionMask::open_range(std::int64_t query, std::int64_t queries,
                                               std::int64_t keys) const {
  const std::int64_t p = first_query(queries, keys) + query;
  Range open{0, keys};
  if (causal_) open.end = std::min(open.end, p + 1);
  for (const Range& window : windows_) {
    if (window.begin >= 0) open.begin = std::max(open.begin, p - window.begin);
    if (window.end >= 0) open.end = std::min(open.end, p + window.end + 1);
  }
  open.end = std::max<std::int64_t>(open.end, 0);
  open.begin = std::min(open.begin, open.end);
  return open;
}

void AttentionMask::check(const char* op, const Shape& scores, DType dtype) const {
  for (const Tensor& m : attend_) check_expands(op, "mask", m, scores);
  for (const Tensor& b : bias_) {
    check_dtype(op, "bias", b, {dtype});
    check_expands(op, "bias", b, scores);
  }
  const int rank = scores.rank();
  for (const Tensor& lengths : key_lengths_) {
    check_shape(op, "key lengths", lengths, {rank > 3 ? scores[rank - 4] : 1}, "one length for each sample");
  }
  for (const Tensor& ids : documents_) {
    check_shape(
        op, "documents", ids,
        ids.rank() == 1 ? Shape{scores[rank - 1]} : Shape{rank > 3 ? scores[rank - 4] : 1, scores[rank - 1]},
        "one id for each position");
    if (scores[rank - 1] != scores[rank - 2]) {
      fail<ShapeError>(op, "a document mask needs as many queries as keys", scores.str(), "Tq == Tk");
    }
  }
  for (const Tensor& s : slopes_) {
    check_dtype(op, "slopes", s, {dtype});
    check_shape(op, "slopes", s, {rank > 2 ? scores[rank - 3] : 1}, "one slope for each head");
  }
}

Tensor AttentionMask::open_pairs(const Shape& scores) const {
  const NoGrad guard;
  const std::int64_t queries = scores[scores.rank() - 2];
  const std::int64_t keys = scores[scores.rank() - 1];
  Tensor open;
  if (causal_ || !windows_.empty()) {
    open = zeros({queries, keys}, DType::boolean);
    bool* data = open.mutable_data<bool>();
    for (std::int64_t i = 0; i < queries; ++i) {
      const Range range = open_range(i, queries, keys);
      std::fill(data + i * keys + range.begin, data + i * keys + range.end, true);
    }
  }
  for (const Tensor& m : attend_) open = both(open, m);
  for (const Tensor& b : bias_) open = both(open, ne(b.detach(), minus_infinity));
  for (const Tensor& lengths : key_lengths_) {
    const Tensor positions = arange(0, keys);
    const Tensor limit = scores.rank() > 3 ? unsqueeze(per_sample(lengths), -1) : reshape(lengths, {1, 1});
    open = both(open, lt(positions, limit));
  }
  for (const Tensor& ids : documents_) {
    // [B, 1, T, 1] against [B, 1, 1, T]
    const Tensor rows = ids.rank() == 1 ? unsqueeze(ids, -1) : unsqueeze(per_sample(ids), -1);
    const Tensor columns = ids.rank() == 1 ? unsqueeze(ids, 0) : unsqueeze(per_sample(ids), -2);
    open = both(open, eq(rows, columns));
  }
  return open;
}

Tensor AttentionMask::distance(std::int64_t queries, std::int64_t keys) const {
  const std::int64_t start = first_query(queries, keys);
  return abs(sub(unsqueeze(arange(start, start + queries), 1), unsqueeze(arange(0, keys), 0)));
}

Tensor AttentionMask::additive(const Shape& scores, DType dtype) const {
  Tensor total;
  for (const Tensor& b : bias_) total = plus(total, masked_fill(b, eq(b.detach(), minus_infinity), 0));
  for (const Tensor& slopes : slopes_) {
    const Tensor steps = cast(distance(scores[scores.rank() - 2], scores[scores.rank() - 1]), dtype);
    total = plus(total, neg(mul(reshape(slopes, {slopes.size(0), 1, 1}), steps)));
  }
  return total;
}

}  // namespace heed
