#include <vector>

#include <heed/core/backward.h>
#include <heed/ops/arithmetic.h>
#include <heed/train/accumulate_gradients.h>
#include <heed/train/evaluate.h>

namespace heed::train {

AccumulatedLoss accumulate_gradients(std::span<const Batch> parts, const BatchLoss& loss,
                                     std::int64_t ignore_index) {
  AccumulatedLoss total;
  std::vector<std::int64_t> counts;
  for (const Batch& part : parts) {
    counts.push_back(counted_tokens(part, ignore_index));
    total.tokens += counts.back();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double share = static_cast<double>(counts[i]) / static_cast<double>(total.tokens);
    const Tensor mean = loss(parts[i]);
    backward(share == 1 ? mean : mean * share);
    total.loss += share * scalar_of(mean);
  }
  return total;
}

}  // namespace heed::train
