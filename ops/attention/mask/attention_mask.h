#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/core/tensor.h>

namespace heed {

/// Which query may attend which key, and what is added to its logit. A value: parts are joined with `&`, and
/// a pair is open iff every part opens it. A closed pair reaches no result and no gradient.
///
/// Positions: key j has position j; query i has position query_start + i. By default the last query sits on
/// the last key, which is what a KV cache needs: query_start is Tk − Tq, or length_b − Tq where key lengths
/// are given. Where a length is below Tq that would put queries before the first key: then causality and
/// windows need a query_start, and `check` says so.
class AttentionMask {
 public:
  /// Everything open.
  AttentionMask() = default;

  /// Key position <= query position.
  static AttentionMask causal();
  /// p − left <= key position <= p + right around the query position p; −1 = no bound on that side.
  static AttentionMask window(std::int64_t left, std::int64_t right);
  /// Boolean, true = may attend; broadcasts to [.., Hq, Tq, Tk].
  static AttentionMask attend(Tensor mask);
  /// Boolean, true = may not attend; broadcasts to [.., Hq, Tq, Tk]. Two axes are [Tq, Tk]; where they could
  /// also be [B, Tk], `check` refuses them: a padding mask is [B, 1, 1, Tk], or `key_lengths`.
  static AttentionMask ignore(Tensor mask);
  /// Floating, added to the scaled logits, differentiable; −inf closes the pair.
  /// Broadcasts to [.., Hq, Tq, Tk].
  static AttentionMask bias(Tensor bias);
  /// i32 or i64 [B], 0 … Tk: only the first length[b] keys of sample b are open.
  static AttentionMask key_lengths(Tensor lengths);
  /// i32 or i64 [T] or [B, T]: a pair is open iff both lie in the same document.
  /// For self-attention of packed documents.
  static AttentionMask documents(Tensor ids);
  /// slopes [Hq], differentiable: adds −slope_h · |query position − key position|.
  static AttentionMask alibi(Tensor slopes);

  /// The same mask with the first query at this position.
  /// 0 is the top-left rule of ONNX and of PyTorch's is_causal.
  AttentionMask query_start(std::int64_t position) const;
  /// The same with a first position for each sample, i32 or i64 [B].
  AttentionMask query_start(Tensor positions) const;
  /// Whether the mask says where queries start.
  bool has_query_start() const { return query_start_ || query_starts_.defined(); }

  friend AttentionMask operator&(AttentionMask a, const AttentionMask& b);

  /// Whether nothing is closed and nothing is added.
  bool empty() const;

  /// ShapeError, DTypeError or ValueError (naming `op`) unless every part fits logits of this shape
  /// [.., Hq, Tq, Tk], key lengths lie in 0 … Tk, and it is clear where the queries of a causal mask stand.
  void check(const char* op, const Shape& scores, DType dtype) const;
  /// Boolean, true = open, broadcasts to `scores`; undefined where all is open. Includes biases of −inf.
  Tensor open_pairs(const Shape& scores) const;
  /// What is added to the logits, with history; broadcasts to `scores`. Undefined where nothing is added.
  /// −inf is replaced by 0, as `open_pairs` closes such pairs.
  Tensor additive(const Shape& scores, DType dtype) const;

  /// Why query i of head h may or may not attend key j in sample b. `scores` is the shape of the logits,
  /// [.., Hq, Tq, Tk].
  ///   query 1 at position 3 may not attend key 5: causal (5 > 3) closes it
  /// Throws    IndexError (no such pair), and as `check`.
  std::string explain(const Shape& scores, std::int64_t b, std::int64_t h, std::int64_t i,
                      std::int64_t j) const;
  /// One line per query, one character per key: # open, + open with something added, . closed. Throws as
  /// `explain`, and ValueError for more than 256 queries or keys.
  std::string picture(const Shape& scores, std::int64_t b = 0, std::int64_t h = 0) const;

  /// Samples in logits of this shape: the axis before heads; 1 without one.
  static std::int64_t samples_of(const Shape& scores);

  /// The mask as kernels take it: one range of keys for each query, what is open within it, and what is
  /// added. Sample b has the ranges of sample b % samples.
  struct Plan {
    std::int64_t samples = 1;
    std::vector<std::int64_t> begin, end;        ///< [samples · Tq]: keys begin <= j < end are open …
    std::vector<std::int64_t> first_position{};  ///< of the queries, [samples of the logits] or [1]
    Tensor open;                                 ///< … where this is true, if defined
    Tensor bias;    ///< sum of the biases, with history; undefined where there is none
    Tensor slopes;  ///< sum of the slopes, likewise
  };
  Plan plan(const Shape& scores) const;
  /// |query position − key position| as `dtype`, broadcasts to `scores`.
  Tensor distance(const Shape& scores, DType dtype) const;
  /// The same mask with these additive parts instead of its own; either may be undefined.
  AttentionMask with_additive(Tensor bias, Tensor slopes) const;

  /// Calls `visit(name, tensor)` for each tensor of the mask.
  template <class Visit>
  friend void visit_tensors(AttentionMask& mask, Visit&& visit) {
    visit("query_start", mask.query_starts_);
    const auto visit_all = [&](const char* name, std::vector<Tensor>& tensors) {
      for (Tensor& x : tensors) visit(name, x);
    };
    visit_all("mask", mask.attend_);
    visit_all("bias", mask.bias_);
    visit_all("key_lengths", mask.key_lengths_);
    visit_all("documents", mask.documents_);
    visit_all("slopes", mask.slopes_);
  }
  template <class Visit>
  friend void visit_tensors(Plan& plan, Visit&& visit) {
    visit("mask", plan.open);
    visit("bias", plan.bias);
    visit("slopes", plan.slopes);
  }

 private:
  struct Window {
    std::int64_t left;
    std::int64_t right;
  };
  std::vector<std::int64_t> first_positions(const Shape& scores) const;
  void check_booleans(const char* op, const Shape& scores) const;
  void check_positions(const char* op, const Shape& scores) const;
  struct Pair {
    std::int64_t b, h, i, j, first;  ///< the query's position is first + i
  };
  struct Reasons {
    std::vector<std::string> opening, closing, adding;
    void say(bool open, std::string text);
  };
  Pair pair_of(const char* op, const Shape& scores, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t j) const;
  void add_range_reasons(const Pair& pair, Reasons& reasons) const;
  Reasons reasons(const Shape& scores, const Pair& pair) const;
  void add_ranges(const Shape& scores, Plan& plan) const;
  void add_documents(const Shape& scores, const Tensor& ids, Plan& plan) const;

  bool causal_ = false;
  std::vector<Window> windows_;
  std::optional<std::int64_t> query_start_;
  Tensor query_starts_;
  std::vector<Tensor> attend_;
  std::vector<Shape> ignored_;  ///< of the masks that `ignore` was given
  std::vector<Tensor> bias_;
  std::vector<Tensor> key_lengths_;
  std::vector<Tensor> documents_;
  std::vector<Tensor> slopes_;
};

}  // namespace heed
