#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <heed/core/arguments.h>
#include <heed/core/grad_mode.h>
#include <heed/core/strided_loop.h>
#include <heed/ops/attention/mask/attention_mask.h>
#include <heed/ops/attention/mask/positions.h>
#include <heed/ops/cast.h>
#include <heed/ops/expand.h>

namespace heed {
namespace {

std::int64_t heads_of(const Shape& scores) { return scores.rank() > 2 ? scores[scores.rank() - 3] : 1; }

// The element of x, which broadcasts to [B, H, Tq, Tk], for one pair.
double at(const Tensor& x, const Shape& scores, const std::array<std::int64_t, 4>& pair) {
  const NoGrad guard;
  const Shape four{AttentionMask::samples_of(scores), heads_of(scores), scores[scores.rank() - 2],
                   scores[scores.rank() - 1]};
  const Tensor all = view_of(x, expand_view("explain", x.view(), four));
  View one = all.view();
  for (int axis = 0; axis < 4; ++axis)
    one = select_view("explain", one, 0, pair[static_cast<std::size_t>(axis)]);
  return cast(view_of(all, one), DType::f64).item<double>();
}

}  // namespace

void AttentionMask::Reasons::say(bool open, std::string text) {
  (open ? opening : closing).push_back(std::move(text));
}

AttentionMask::Pair AttentionMask::pair_of(const char* op, const Shape& scores, std::int64_t b,
                                           std::int64_t h, std::int64_t i, std::int64_t j) const {
  if (scores.rank() < 2 || scores.rank() > 4) {
    fail<ShapeError>(op, "logits of such a shape are not attended", scores.str(),
                     "[Tq, Tk] to [B, Hq, Tq, Tk]");
  }
  check(op, scores, bias_.empty() ? slopes_.empty() ? DType::f32 : slopes_[0].dtype() : bias_[0].dtype());
  const std::array<std::pair<const char*, std::int64_t>, 4> index{
      {{"sample", b}, {"head", h}, {"query", i}, {"key", j}}};
  const std::array<std::int64_t, 4> sizes{samples_of(scores), heads_of(scores), scores[scores.rank() - 2],
                                          scores[scores.rank() - 1]};
  for (std::size_t k = 0; k < 4; ++k) {
    if (index[k].second >= 0 && index[k].second < sizes[k]) continue;
    fail<IndexError>(op, fmt::format("there is no such {}", index[k].first), fmt::to_string(index[k].second),
                     fmt::format("0 <= {} < {}", index[k].first, sizes[k]));
  }
  const auto first = first_positions(scores);
  return {b, h, i, j, first[static_cast<std::size_t>(b) % first.size()]};
}

// The reasons that causality, windows, lengths and documents give.
void AttentionMask::add_range_reasons(const Pair& p, Reasons& r) const {
  const detail::Position position = detail::Position{p.first} + p.i;
  if (causal_)
    r.say(p.j <= position, fmt::format("causal ({} {} {})", p.j, p.j <= position ? "<=" : ">", position));
  for (const Window& w : windows_) {
    const bool open = (w.left < 0 || p.j >= position - w.left) && (w.right < 0 || p.j <= position + w.right);
    const auto bound = [&](std::int64_t x, detail::Position edge) {
      return x < 0 ? std::string("any") : fmt::to_string(edge);
    };
    r.say(open, fmt::format("window (keys {} to {})", bound(w.left, position - w.left),
                            bound(w.right, position + w.right)));
  }
  for (const Tensor& lengths : key_lengths_) {
    const std::int64_t length = detail::integers_of(lengths)[static_cast<std::size_t>(p.b)];
    r.say(p.j < length, fmt::format("key length ({} of sample {})", length, p.b));
  }
  for (const Tensor& ids : documents_) {
    const auto all = detail::integers_of(ids);
    const std::int64_t row = ids.rank() == 1 ? 0 : p.b * ids.size(1);
    const std::int64_t mine = all[static_cast<std::size_t>(row + p.i)],
                       theirs = all[static_cast<std::size_t>(row + p.j)];
    r.say(mine == theirs, fmt::format("documents ({} and {})", mine, theirs));
  }
}

AttentionMask::Reasons AttentionMask::reasons(const Shape& scores, const Pair& p) const {
  Reasons r;
  add_range_reasons(p, r);
  const std::array<std::int64_t, 4> pair{p.b, p.h, p.i, p.j};
  for (const Tensor& m : attend_) r.say(at(m, scores, pair) != 0, "the boolean mask");
  for (const Tensor& b : bias_) {
    const double value = at(b, scores, pair);
    if (value == -std::numeric_limits<double>::infinity()) {
      r.say(false, "a bias of -inf");
    } else {
      r.adding.push_back(fmt::format("bias {:g}", value));
    }
  }
  for (const Tensor& s : slopes_) {
    const double slope = cast(s.detach(), DType::f64).to_vector<double>()[static_cast<std::size_t>(p.h)];
    const auto distance = static_cast<double>(detail::Position{p.first} + p.i - p.j);
    r.adding.push_back(fmt::format("ALiBi {:g}", -slope * std::abs(distance)));
  }
  return r;
}

std::string AttentionMask::explain(const Shape& scores, std::int64_t b, std::int64_t h, std::int64_t i,
                                   std::int64_t j) const {
  const Pair pair = pair_of("explain", scores, b, h, i, j);
  const Reasons r = reasons(scores, pair);
  std::string text = fmt::format("query {} at position {} may {}attend key {}: ", i,
                                 detail::Position{pair.first} + i, r.closing.empty() ? "" : "not ", j);
  if (!r.closing.empty()) return text + fmt::format("{} closes it", fmt::join(r.closing, " and "));
  text += r.opening.empty() ? "nothing closes it"
                            : fmt::format("{} leaves it open", fmt::join(r.opening, " and "));
  if (!r.adding.empty()) text += fmt::format("; added to its logit: {}", fmt::join(r.adding, ", "));
  return text;
}

std::string AttentionMask::picture(const Shape& scores, std::int64_t b, std::int64_t h) const {
  pair_of("picture", scores, b, h, 0, 0);
  const std::int64_t queries = scores[scores.rank() - 2], keys = scores[scores.rank() - 1];
  constexpr std::int64_t largest = 256;
  if (queries > largest || keys > largest) {
    fail<ValueError>("picture", "too large to print", scores.str(),
                     fmt::format("at most {} queries and keys", largest));
  }
  std::string text;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const Reasons r = reasons(scores, pair_of("picture", scores, b, h, i, j));
      text += !r.closing.empty() ? '.' : r.adding.empty() ? '#' : '+';
    }
    text += '\n';
  }
  return text;
}

}  // namespace heed
