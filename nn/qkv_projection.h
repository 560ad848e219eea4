#pragma once

#include <heed/core/random.h>
#include <heed/nn/module.h>

namespace heed::nn {

struct QkvProjectionOptions {
  std::int64_t embed_dim = 0;  // width of the query input
  std::int64_t kdim = 0;       // width of the key input
  std::int64_t vdim = 0;       // width of the value input
  std::int64_t query_width = 0;
  std::int64_t key_width = 0;  // of keys, and of values
  bool bias = true;
};

/// q = query Wqᵀ + bq,   k = key Wkᵀ + bk,   v = value Wvᵀ + bv.
/// Shapes    query [.., Tq, embed_dim] → q [.., Tq, query_width]; key [.., Tk, kdim] → k [.., Tk, key_width];
///           value [.., Tk, vdim] → v [.., Tk, key_width].
/// Weights   `weight` [query_width + 2 key_width, embed_dim], rows of q, then k, then v, where the inputs
///           have one width; otherwise `q_weight`, `k_weight` and `v_weight`. `bias` is always packed. All
///           start from U(−1/√width, 1/√width) of the input.
/// Throws    ValueError (a size below 1), at the call what `linear` throws.
class QkvProjection final : public Module {
 public:
  QkvProjection(const QkvProjectionOptions& options, Generator& generator);
  const QkvProjectionOptions& options() const { return options_; }
  /// Whether one weight serves all three.
  bool packed() const;

  struct Result {
    Tensor q, k, v;
  };
  /// Inputs that are one tensor share one product.
  Result operator()(const Tensor& query, const Tensor& key, const Tensor& value) const;

  /// Names the parts q, k and v of the weight, and q and v of the bias. The bias of the keys is left out: it
  /// shifts all logits of a query alike, so its gradient is zero.
  void visit_blocks(MemberVisitor& visitor) const;

  Tensor weight;
  Tensor q_weight, k_weight, v_weight;
  Tensor bias;

 protected:
  void visit(MemberVisitor& visitor) override;

 private:
  /// The rows begin … end−1 of the packed weight and bias that are one part.
  struct Rows {
    std::int64_t begin, end;
  };
  Tensor packed_rows(const Tensor& x, Rows rows) const;
  Tensor own_rows(const Tensor& x, const Tensor& part_weight, Rows rows) const;

  QkvProjectionOptions options_;
};

}  // namespace heed::nn
