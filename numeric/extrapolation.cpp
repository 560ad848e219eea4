#include <algorithm>
#include <cmath>

#include <heed/numeric/extrapolation.h>

namespace heed::numeric {
namespace {

constexpr std::size_t most_columns = 9;
constexpr int least_rows_for_kink = 12;

}  // namespace

void Tableau::add(long double d, double noise) {
  if (!std::isfinite(d)) {
    row_.clear();
    best_ = {};
    return;
  }
  const std::vector<Entry> coarser = row_;
  row_.assign(1, {d, noise});
  long double power = 1;
  for (std::size_t j = 0; j < std::min(coarser.size(), most_columns - 1); ++j) {
    power *= factor_;
    const Entry fine = row_[j];
    const Entry coarse = coarser[j];
    const long double value = fine.value + (fine.value - coarse.value) / (power - 1);
    const auto p = static_cast<double>(power);
    row_.push_back({value, (p * fine.noise + coarse.noise) / (p - 1)});
    if (coarser.size() < 2) continue;  // two steps may agree by chance, so three are needed
    const long double before = coarser[std::min(j + 1, coarser.size() - 1)].value;
    const long double truncation =
        std::max({std::abs(value - fine.value), std::abs(value - coarse.value), std::abs(value - before)});
    const double bar = static_cast<double>(truncation) + row_.back().noise;
    const double distance = std::abs(static_cast<double>(value) - best_.value);
    // A smaller step may refute the best value: it agreed by chance, or belonged to larger steps that reach
    // over a kink beside the point.
    const bool refuted = distance > 2 * (bar + best_.bar);
    if (bar < best_.bar || refuted) best_ = {static_cast<double>(value), bar};
  }
}

bool Derivative::kink() const {
  return std::isfinite(left.bar) && std::isfinite(right.bar) &&
         std::abs(right.value - left.value) > 2 * (left.bar + right.bar);
}

void Differences::add(const Pair& pair) {
  const long double above = pair.above;
  const long double below = pair.below;
  step_ = std::min(pair.above, pair.below);
  ++rows_;
  central_.add((pair.f_above - pair.f_below) / (above + below), noise_ / step_);
  right_.add((pair.f_above - center_) / above, 2 * noise_ / step_);
  left_.add((center_ - pair.f_below) / below, 2 * noise_ / step_);
}

bool Differences::settled() const {
  if (rows_ >= options_.most_rows) return true;
  const Derivative now = result();
  // The sides may differ because the larger steps reach over a kink beside the point; smaller ones do not.
  if (rows_ < (now.kink() ? std::max(options_.least_rows, least_rows_for_kink) : options_.least_rows))
    return false;
  const bool reached = now.central.bar <= options_.atol + options_.rtol * std::abs(now.central.value);
  const bool exhausted = noise_ / step_ > now.central.bar;  // rounding alone exceeds the bar
  return reached || exhausted;
}

Derivative differentiate(long double center, double noise, const std::function<Pair(double)>& pair,
                         const DifferenceOptions& options) {
  Differences differences(center, noise, options);
  for (double h = options.first_step; !differences.settled(); h /= 2) {
    const Pair values = pair(h);
    if (!(values.above > 0 && values.below > 0)) break;
    differences.add(values);
  }
  return differences.result();
}

double rounding_noise(std::span<const long double> values) {
  std::vector<long double> differences(values.begin(), values.end());
  double largest = 0;
  double scale = 1;  // (k!)² / (2k)!: k-th differences of independent noise have variance σ² / scale
  for (int k = 1; k <= 4; ++k) {
    for (std::size_t i = 0; i + 1 < differences.size(); ++i)
      differences[i] = differences[i + 1] - differences[i];
    differences.pop_back();
    scale *= static_cast<double>(k * k) / static_cast<double>((2 * k - 1) * (2 * k));
    if (k < 3) continue;  // lower differences still contain the function itself
    long double sum = 0;
    for (const long double d : differences) sum += d * d;
    const auto mean = static_cast<double>(sum / static_cast<long double>(differences.size()));
    largest = std::max(largest, std::sqrt(scale * mean));
  }
  return largest;
}

}  // namespace heed::numeric
