#include <numeric>
#include <vector>

#include <heed/core/backward.h>
#include <heed/core/elements.h>
#include <heed/ops/arithmetic.h>
#include <heed/train/accumulate_gradients.h>
#include <heed/train/evaluate.h>

namespace heed::train {
namespace {

std::vector<std::int64_t> counts_of(std::span<const text::Batch> parts, std::int64_t ignore_index) {
  std::vector<std::int64_t> counts;
  for (const text::Batch& part : parts) counts.push_back(text::counted_tokens(part, ignore_index));
  return counts;
}

// The loss and gradients of these parts, weighted by their share of `total` tokens. Calls before(i) before
// the backward of part i.
template <class Before>
double accumulate(std::span<const text::Batch> parts, std::span<const std::int64_t> counts,
                  std::int64_t total, const BatchLoss& loss, Before&& before) {
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double share = static_cast<double>(counts[i]) / static_cast<double>(total);
    const Tensor mean = loss(parts[i]);
    before(i);
    backward(share == 1 ? mean : mean * share);
    sum += share * scalar_of(mean);
  }
  return sum;
}

}  // namespace

AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     std::int64_t ignore_index) {
  const auto counts = counts_of(parts, ignore_index);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return {accumulate(parts, counts, total, loss, [](std::size_t) {}), total};
}

AccumulatedLoss accumulate_gradients(std::span<const text::Batch> parts, const BatchLoss& loss,
                                     distributed::GradientReducer& reducer, std::int64_t ignore_index) {
  const distributed::World& world = reducer.world();
  const auto counts = counts_of(parts, ignore_index);
  const std::int64_t total = world.sum(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::size_t last = parts.size();
  while (last > 0 && counts[last - 1] == 0) --last;
  const double own = accumulate(parts, counts, total, loss, [&](std::size_t i) {
    if (i + 1 == last) reducer.begin();
  });
  reducer.finish();
  return {world.sum(own), total};
}

}  // namespace heed::train
