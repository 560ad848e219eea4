#include <heed/core/factory.h>
#include <heed/core/grad_mode.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/form/statistics.h>
#include <heed/ops/cast.h>
#include <heed/ops/compare.h>
#include <heed/ops/exp_log.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/sum.h>
#include <heed/ops/where.h>

namespace heed::detail {

void add_statistics(AttentionResult& result, const RowNumbers& rows, const Tensor& sink) {
  result.effective_keys = exp(result.entropy);
  const NoGrad guard;
  result.largest_logit = rows.largest_logit;
  const Tensor dead = eq(rows.sum, 0);
  const auto weight_of = [&](const Tensor& logit) {
    return masked_fill(div(exp(sub(logit, rows.max)), rows.sum), dead, 0);
  };
  const DType dtype = rows.sum.dtype();
  result.sink_mass =
      sink.defined() ? weight_of(unsqueeze(sink.detach(), -1)) : zeros(rows.sum.shape(), dtype);
  const Tensor saturated = gt(weight_of(rows.largest_logit), 0.99);
  result.saturated = mean(cast(saturated, dtype), {-1});
}

}  // namespace heed::detail
