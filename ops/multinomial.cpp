#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/core/parallel.h>
#include <heed/ops/multinomial.h>

namespace heed {
namespace {

constexpr std::string_view multinomial_op = "multinomial";
constexpr std::int64_t grain = 4096;  // probabilities

struct Row {
  const double* p;
  std::int64_t size, count;
  const RandomStream& stream;
};

void check_row(const double* p, std::int64_t size, std::int64_t row, std::int64_t wanted) {
  std::int64_t positive = 0;
  for (std::int64_t j = 0; j < size; ++j) {
    if (!(p[j] >= 0) || std::isinf(p[j])) {
      fail<ValueError>(
          multinomial_op, "a probability is negative or not finite",
          fmt::format("that of {} in row {} is {}", j, row, std::isnan(p[j]) ? std::fabs(p[j]) : p[j]),
          "0 or more");
    }
    positive += p[j] > 0 ? 1 : 0;
  }
  if (positive == 0) {
    fail<ValueError>(multinomial_op, "there is nothing to draw",
                     fmt::format("row {} has no positive probability", row), "a sum above 0");
  }
  if (positive < wanted) {
    fail<ValueError>(
        multinomial_op, "count is too large without replacement",
        fmt::format("count is {} and row {} has {} positive probabilities", wanted, row, positive),
        "at most that many");
  }
}

// The j at which Σ p up to j passes a uniform point of the whole sum. Sums are over the largest p, so that
// none of them overflows.
void draw_with_replacement(const Row& row, std::int64_t first, std::int64_t* drawn) {
  const double largest = *std::max_element(row.p, row.p + row.size);
  std::vector<double> sums;
  double sum = 0;
  for (std::int64_t j = 0; j < row.size; ++j) sums.push_back(sum += row.p[j] / largest);
  const auto last = std::lower_bound(sums.begin(), sums.end(), sum);  // of positive probability
  for_random_bits(row.stream, first, first + row.count, [&](std::int64_t i, std::uint64_t bits) {
    const double point = uniform_from_bits<double>(bits) * sum;
    drawn[i - first] = std::min(last, std::upper_bound(sums.begin(), sums.end(), point)) - sums.begin();
  });
}

// Every j waits an exponential time of rate p_j: the first to come are the draws, in their order. By the
// logarithms of the times, for p of every size.
void draw_without_replacement(const Row& row, std::int64_t first, std::int64_t* drawn) {
  struct Arrival {
    double log_time;
    std::int64_t position;
    bool operator<(const Arrival& other) const {
      return log_time < other.log_time || (log_time == other.log_time && position < other.position);
    }
  };
  std::vector<Arrival> arrivals;
  for_random_bits(row.stream, first, first + row.size, [&](std::int64_t i, std::uint64_t bits) {
    const std::int64_t j = i - first;
    if (row.p[j] == 0) return;
    const double time = -std::log1p(-uniform_from_bits<double>(bits));
    arrivals.push_back({std::log(time) - std::log(row.p[j]), j});
  });
  std::partial_sort(arrivals.begin(), arrivals.begin() + row.count, arrivals.end());
  for (std::int64_t i = 0; i < row.count; ++i) drawn[i] = arrivals[static_cast<std::size_t>(i)].position;
}

}  // namespace

Tensor multinomial(const Tensor& probabilities, std::int64_t count, Generator& generator, bool replacement) {
  check_floating(multinomial_op, "probabilities", probabilities);
  check_rank(multinomial_op, "probabilities", probabilities, 1);
  check_value(count >= 0, multinomial_op, "count", count, "0 or more");
  Shape shape = probabilities.shape();
  const std::int64_t size = shape[shape.rank() - 1];
  shape[shape.rank() - 1] = 1;
  const std::int64_t rows = element_count(shape);
  const std::vector<double> p = probabilities.to_vector<double>();
  for (std::int64_t r = 0; r < rows; ++r) check_row(p.data() + r * size, size, r, replacement ? 0 : count);
  shape[shape.rank() - 1] = count;
  Tensor y = empty(shape, DType::i64);
  if (y.numel() == 0) return y;
  const RandomStream stream = generator.take();
  std::int64_t* const drawn = y.mutable_data<std::int64_t>();
  parallel_for(rows, std::max<std::int64_t>(1, grain / size), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const Row row{p.data() + r * size, size, count, stream};
      if (replacement) {
        draw_with_replacement(row, r * count, drawn + r * count);
      } else {
        draw_without_replacement(row, r * size, drawn + r * count);
      }
    }
  });
  return y;
}

}  // namespace heed
