#include <algorithm>
#include <map>

#include <heed/core/checked_arithmetic.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/attention/mask/positions.h>
#include <heed/ops/compare.h>
#include <heed/ops/squeeze.h>

namespace heed {
namespace {

Tensor narrowed(const Tensor& a, const Tensor& b) { return a.defined() ? logical_and(a, b) : b; }

// Repeats the ranges of one sample for every sample.
void widen(AttentionMask::Plan& plan, std::int64_t samples) {
  if (plan.samples == samples) return;
  const std::size_t n = plan.begin.size();
  for (auto* ends : {&plan.begin, &plan.end}) {
    ends->reserve(n * static_cast<std::size_t>(samples));
    for (std::int64_t b = 1; b < samples; ++b)
      ends->insert(ends->end(), ends->begin(), ends->begin() + static_cast<std::ptrdiff_t>(n));
  }
  plan.samples = samples;
}

// For each position the run of equal ids it lies in, [begin, end). False if an id comes back after another.
bool runs_of(const std::int64_t* ids, std::int64_t n, std::int64_t* begin, std::int64_t* end) {
  std::map<std::int64_t, std::int64_t> seen;  // id → run
  for (std::int64_t i = 0; i < n;) {
    std::int64_t stop = i;
    while (stop < n && ids[stop] == ids[i]) ++stop;
    if (!seen.emplace(ids[i], i).second) return false;
    std::fill(begin + i, begin + stop, i);
    std::fill(end + i, end + stop, stop);
    i = stop;
  }
  return true;
}

// How many keys each sample has: the least of its lengths.
std::vector<std::int64_t> keys_of_samples(const std::vector<Tensor>& lengths, std::int64_t samples,
                                          std::int64_t keys) {
  std::vector<std::int64_t> least(static_cast<std::size_t>(samples), keys);
  for (const Tensor& each : lengths) {
    const auto length = detail::integers_of(each);
    for (std::size_t b = 0; b < least.size(); ++b) least[b] = std::min(least[b], length[b]);
  }
  return least;
}

}  // namespace

std::vector<std::int64_t> AttentionMask::first_positions(const Shape& scores) const {
  const std::int64_t queries = scores[scores.rank() - 2];
  const std::int64_t keys = scores[scores.rank() - 1];
  if (query_starts_.defined()) return detail::integers_of(query_starts_);
  if (query_start_) return {*query_start_};
  if (key_lengths_.empty()) return {keys - queries};
  std::vector<std::int64_t> first = keys_of_samples(key_lengths_, samples_of(scores), keys);
  for (std::int64_t& f : first) f = saturating_sub(f, queries);
  return first;
}

void AttentionMask::add_documents(const Shape& scores, const Tensor& ids, Plan& plan) const {
  const std::int64_t time = scores[scores.rank() - 1];
  const std::int64_t rows = ids.rank() == 1 ? 1 : ids.size(0);
  const auto id = detail::integers_of(ids);
  std::vector<std::int64_t> begin(id.size()), end(id.size());
  bool runs = true;
  for (std::int64_t b = 0; b < rows && runs; ++b) {
    runs = runs_of(id.data() + b * time, time, begin.data() + b * time, end.data() + b * time);
  }
  if (!runs) {  // an id comes back after another: pair by pair, [B, 1, T, 1] against [B, 1, 1, T]
    const Tensor samples = ids.rank() == 1 ? ids : unsqueeze(ids, 1);
    plan.open = narrowed(plan.open, eq(unsqueeze(samples, -1), unsqueeze(samples, -2)));
    return;
  }
  if (rows > 1) widen(plan, rows);
  for (std::size_t i = 0; i < plan.begin.size(); ++i) {
    plan.begin[i] = std::max(plan.begin[i], begin[i % begin.size()]);
    plan.end[i] = std::min(plan.end[i], end[i % end.size()]);
  }
}

void AttentionMask::add_ranges(const Shape& scores, Plan& plan) const {
  const std::int64_t queries = scores[scores.rank() - 2];
  const std::int64_t keys = scores[scores.rank() - 1];
  plan.begin.assign(static_cast<std::size_t>(queries), 0);
  plan.end.assign(static_cast<std::size_t>(queries), keys);
  const auto n = static_cast<std::int64_t>(plan.first_position.size());
  if (n > 1 || !key_lengths_.empty()) widen(plan, samples_of(scores));
  for (const Tensor& ids : documents_) add_documents(scores, ids, plan);

  const std::vector<std::int64_t> lengths = keys_of_samples(key_lengths_, plan.samples, keys);
  for (std::int64_t b = 0; b < plan.samples; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    const std::int64_t first = plan.first_position[static_cast<std::size_t>(n == 1 ? 0 : b)];
    for (std::int64_t i = 0; i < queries; ++i) {
      std::int64_t& begin = plan.begin[static_cast<std::size_t>(b * queries + i)];
      std::int64_t& end = plan.end[static_cast<std::size_t>(b * queries + i)];
      const detail::Position p = detail::Position{first} + i;
      end = std::min(end, length);
      if (causal_) end = std::min(end, detail::among_keys(p + 1, keys));
      for (const Window& window : windows_) {
        if (window.left >= 0) begin = std::max(begin, detail::among_keys(p - window.left, keys));
        if (window.right >= 0) end = std::min(end, detail::among_keys(p + window.right + 1, keys));
      }
      end = std::max<std::int64_t>(end, 0);
      begin = std::min(begin, end);
    }
  }
}

AttentionMask::Plan AttentionMask::plan(const Shape& scores) const {
  Plan plan;
  plan.first_position = first_positions(scores);
  {
    const NoGrad guard;
    add_ranges(scores, plan);
    for (const Tensor& m : attend_) plan.open = narrowed(plan.open, m);
  }
  for (const Tensor& b : bias_) plan.bias = plan.bias.defined() ? add(plan.bias, b) : b;
  for (const Tensor& s : slopes_) plan.slopes = plan.slopes.defined() ? add(plan.slopes, s) : s;
  return plan;
}

}  // namespace heed
