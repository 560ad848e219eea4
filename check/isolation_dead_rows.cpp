#include <algorithm>
#include <string_view>
#include <vector>

#include <heed/check/function.h>
#include <heed/check/isolation_dead_rows.h>
#include <heed/core/scope.h>

namespace heed::check {
namespace {

// For each row along the last axis, whether one of its elements is set.
std::vector<bool> rows_with_any(const std::vector<bool>& elements, const Shape& shape) {
  const std::int64_t width = shape[shape.rank() - 1];
  std::vector<bool> rows(width == 0 ? 0 : elements.size() / static_cast<std::size_t>(width), false);
  for (std::size_t e = 0; e < elements.size(); ++e) {
    if (elements[e]) rows[e / static_cast<std::size_t>(width)] = true;
  }
  return rows;
}

std::vector<bool> nonzero(const Tensor& x) {
  std::vector<bool> flags;
  for (const double v : numbers_of(x)) flags.push_back(v != 0);
  return flags;
}

DeadRows dead_rows_of_output(const IsolationProbe& probe, const Places& alive, const Tensor& other) {
  const SequenceGrid& grid = probe.grid();
  const Places changed = probe.changed_places(other);
  const Places zero = probe.zero_places();
  DeadRows dead;
  for (std::int64_t p = 0; p < grid.size(); ++p) {
    const auto at = static_cast<std::size_t>(p);
    if (!alive[at] || changed[at]) continue;
    bool elsewhere = zero[at];
    for (std::int64_t sample = 0; sample < grid.samples; ++sample) {
      const auto same = static_cast<std::size_t>(grid.number({sample, grid.place(p).position}));
      elsewhere = elsewhere || (alive[same] && changed[same]);
    }
    if (!elsewhere) continue;
    if (dead.count++ == 0) dead.first = grid.place(p);
  }
  return dead;
}

// The dead queries of one attention: queries [.., H, Tq, D] and results [.., H, Tq, Dv].
DeadRows dead_queries(const TracedResult& query, const TracedResult& result,
                      const TracedChange& query_by_alive, const TracedChange& query_by_others,
                      const TracedChange& result_by_alive) {
  DeadRows dead;
  const Shape& shape = result.value.shape();
  if (!query_by_alive.comparable || !query_by_others.comparable || !result_by_alive.comparable) return dead;
  const std::vector<bool> counts = rows_with_any(query_by_alive.elements, query.value.shape());
  const std::vector<bool> padded = rows_with_any(query_by_others.elements, query.value.shape());
  const std::vector<bool> hears = rows_with_any(result_by_alive.elements, shape);
  const std::vector<bool> speaks = rows_with_any(nonzero(result.value), shape);
  if (counts.size() != hears.size()) return dead;  // queries that several batches share
  const auto queries = static_cast<std::size_t>(shape[shape.rank() - 2]);
  const std::int64_t heads = shape.rank() > 2 ? shape[shape.rank() - 3] : 1;
  for (std::size_t row = 0; row < hears.size(); ++row) {
    if (!counts[row] || padded[row] || hears[row] || speaks[row]) continue;
    if (dead.count++ > 0) continue;
    dead.first = {static_cast<std::int64_t>(row / queries) / heads, static_cast<std::int64_t>(row % queries)};
    dead.op = result.node->op();
    dead.scope = result.node->scope() == nullptr ? "" : result.node->scope()->path();
  }
  return dead;
}

}  // namespace

DeadRows find_dead_rows(const IsolationProbe& probe, const Places& alive) {
  if (probe.draws()) return {};
  const Tensor other = probe.moved(Plant::other, 0, alive);
  DeadRows dead = dead_rows_of_output(probe, alive, other);
  if (dead.count > 0) return dead;
  Places others = alive;
  others.flip();
  const Trace& trace = probe.trace();
  const auto by_alive = changes_by(probe.model(), other, trace);
  const auto by_others = changes_by(probe.model(), probe.moved(Plant::other, 0, others), trace);
  for (std::size_t r = 0; r < trace.results.size() && dead.count == 0; ++r) {
    const TracedResult& result = trace.results[r];
    if (std::string_view(result.node->op()) != "attention" || result.output != 0) continue;
    const std::int64_t query = trace.number_of(result.node->edges()[0]);
    if (query < 0 || result.value.rank() < 2) continue;
    const auto q = static_cast<std::size_t>(query);
    dead = dead_queries(trace.results[q], result, by_alive[q], by_others[q], by_alive[r]);
  }
  return dead;
}

}  // namespace heed::check
