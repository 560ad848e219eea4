#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <heed/check/isolation_sources.h>

namespace heed::check {
namespace {

constexpr std::int32_t nobody = -1;
constexpr std::int32_t several = -2;
constexpr int gather_steps = 4;

// The first results on the tape that change with the tokens: no result that they read does.
std::vector<std::size_t> numbers_of_sources(const Trace& trace, const std::vector<TracedChange>& by_all) {
  const std::vector<bool> reaches = trace.reaches_output();
  std::vector<std::size_t> numbers;
  for (std::size_t r = 0; r < trace.results.size(); ++r) {
    if (!reaches[r] || !by_all[r].any()) continue;
    const auto edges = trace.results[r].node->edges();
    const bool first = std::none_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      const std::int64_t operand = trace.number_of(edge);
      return operand >= 0 && by_all[static_cast<std::size_t>(operand)].any();
    });
    if (first) numbers.push_back(r);
  }
  return numbers;
}

bool any_set(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// Replaces each flagged result by the results that read it.
std::vector<std::size_t> behind(const Trace& trace, const std::vector<std::size_t>& numbers,
                                const std::vector<bool>& flagged) {
  std::set<std::size_t> next;
  const std::vector<bool> reaches = trace.reaches_output();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!flagged[i]) next.insert(numbers[i]);
    for (std::size_t r = 0; flagged[i] && r < trace.results.size(); ++r) {
      const auto edges = trace.results[r].node->edges();
      const bool reads = std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
        return trace.number_of(edge) == static_cast<std::int64_t>(numbers[i]);
      });
      if (reads && reaches[r]) next.insert(r);
    }
  }
  return {next.begin(), next.end()};
}

// Who owns the elements of some results.
class Owners {
 public:
  Owners(const SequenceModel& model, const Trace& trace, const SequenceGrid& grid, const Moved& moved,
         std::vector<std::size_t> numbers)
      : model_(model), trace_(trace), grid_(grid), moved_(moved), numbers_(std::move(numbers)) {
    for (const std::size_t number : numbers_) {
      const auto size = static_cast<std::size_t>(trace_.results[number].value.numel());
      sources_.push_back({trace_.results[number].handle(), std::vector<std::int32_t>(size, nobody)});
      for (std::int64_t p = 0; p < grid_.size(); ++p) sources_.back().sets.push_back({p});
    }
    ask_by_digits();
  }

  // Of each result, whether some element belongs to several places.
  std::vector<bool> shared() const {
    std::vector<bool> shared;
    for (const IsolationSource& source : sources_) {
      shared.push_back(std::find(source.owners.begin(), source.owners.end(), several) != source.owners.end());
    }
    return shared;
  }

  std::vector<IsolationSource> sources() {
    ask_one_by_one();
    for (IsolationSource& source : sources_) complete_rows(source);
    return std::move(sources_);
  }

 private:
  // For each source, which elements change with these places: all of them if the two runs cannot be compared.
  std::vector<std::vector<bool>> changed_by(const Places& places) const {
    const auto changes =
        changes_by(model_, moved_(places), trace_, static_cast<std::int64_t>(numbers_.back()));
    std::vector<std::vector<bool>> changed;
    for (std::size_t s = 0; s < numbers_.size(); ++s) {
      const TracedChange& change = changes[numbers_[s]];
      changed.push_back(change.comparable ? change.elements
                                          : std::vector<bool>(sources_[s].owners.size(), true));
    }
    return changed;
  }

  // Finds owners by the binary digits of their numbers. All places with a 1 at some digit are changed, then
  // all with a 0. An element with one owner changes in the run that changes its owner; one with several
  // owners may change in both.
  void ask_by_digits() {
    for (int digit = 0; digit == 0 || (std::int64_t{1} << digit) < grid_.size(); ++digit) {
      Places ones = grid_.none();
      for (std::int64_t p = 0; p < grid_.size(); ++p)
        ones[static_cast<std::size_t>(p)] = (p >> digit & 1) != 0;
      Places zeros = ones;
      zeros.flip();
      const auto by_ones = changed_by(ones);
      const auto by_zeros = changed_by(zeros);
      for (std::size_t s = 0; s < sources_.size(); ++s) {
        add_digit(sources_[s], digit, by_ones[s], by_zeros[s]);
      }
    }
    for (IsolationSource& source : sources_) {  // digits of several owners may make a number of no place
      for (std::int32_t& owner : source.owners) {
        if (owner >= grid_.size()) owner = several;
      }
    }
  }

  static void add_digit(IsolationSource& source, int digit, const std::vector<bool>& one,
                        const std::vector<bool>& zero) {
    for (std::size_t e = 0; e < source.owners.size(); ++e) {
      std::int32_t& owner = source.owners[e];
      if (owner == several || (!one[e] && !zero[e])) continue;
      if (one[e] && zero[e]) {
        owner = several;
      } else {
        owner = std::max(owner, 0) + (one[e] ? 1 << digit : 0);
      }
    }
  }

  void ask_one_by_one() {
    if (!any_set(shared())) return;
    std::vector<std::vector<bool>> open;
    for (IsolationSource& source : sources_) {
      open.emplace_back();
      for (std::int32_t& owner : source.owners) {
        open.back().push_back(owner == several);
        if (owner == several) owner = nobody;
      }
    }
    std::vector<std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t>> joined(sources_.size());
    for (std::int64_t p = 0; p < grid_.size(); ++p) {
      const auto changed = changed_by(grid_.only(grid_.place(p)));
      for (std::size_t s = 0; s < sources_.size(); ++s) join(sources_[s], open[s], changed[s], p, joined[s]);
    }
  }

  // Adds place p to the sets of the elements that it changes.
  static void join(IsolationSource& source, const std::vector<bool>& open, const std::vector<bool>& changed,
                   std::int64_t p, std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t>& joined) {
    for (std::size_t e = 0; e < changed.size(); ++e) {
      if (!open[e] || !changed[e]) continue;
      std::int32_t& owner = source.owners[e];
      const auto [at, is_new] =
          joined.emplace(std::pair(owner, p), static_cast<std::int32_t>(source.sets.size()));
      if (is_new) {
        std::vector<std::int64_t> set;
        if (owner != nobody) set = source.sets[static_cast<std::size_t>(owner)];
        set.push_back(p);
        source.sets.push_back(std::move(set));
      }
      owner = at->second;
    }
  }

  // Two tokens may agree in an element by chance: it belongs to the owner of its row.
  static void complete_rows(IsolationSource& source) {
    const Shape& shape = source.tensor.shape();
    const auto width = static_cast<std::ptrdiff_t>(shape.rank() == 0 ? 1 : shape[shape.rank() - 1]);
    for (auto row = source.owners.begin(); row != source.owners.end(); row += width) {
      const std::int32_t owner = *std::max_element(row, row + width);
      const bool one_owner =
          std::all_of(row, row + width, [&](std::int32_t o) { return o == owner || o == nobody; });
      if (one_owner) std::fill(row, row + width, owner);
    }
  }

  const SequenceModel& model_;
  const Trace& trace_;
  const SequenceGrid& grid_;
  const Moved& moved_;
  std::vector<std::size_t> numbers_;
  std::vector<IsolationSource> sources_;
};

}  // namespace

std::vector<bool> IsolationSource::meets(const Places& places) const {
  std::vector<bool> meets;
  for (const std::vector<std::int64_t>& set : sets) {
    meets.push_back(std::any_of(set.begin(), set.end(),
                                [&](std::int64_t p) { return places[static_cast<std::size_t>(p)]; }));
  }
  return meets;
}

IsolationSource source_of_leaf(const Trace& trace, const SequenceGrid& grid, const SequenceAxes& axes) {
  IsolationSource source{trace.leaf, {}};
  for (std::int64_t e = 0; e < trace.leaf.numel(); ++e) {
    source.owners.push_back(static_cast<std::int32_t>(grid.place_of(trace.leaf.shape(), axes, e)));
  }
  for (std::int64_t p = 0; p < grid.size(); ++p) source.sets.push_back({p});
  return source;
}

std::vector<IsolationSource> sources_of_tokens(const SequenceModel& model, const Trace& trace,
                                               const SequenceGrid& grid, const Moved& moved) {
  const auto by_all = changes_by(model, moved(grid.all()), trace);
  std::vector<std::size_t> numbers = numbers_of_sources(trace, by_all);
  if (numbers.empty()) return {};
  Owners first(model, trace, grid, moved, numbers);
  std::vector<bool> shared = first.shared();
  // Rows that several tokens decide together, such as vectors of sorted tokens, may be gathered into
  // rows of one.
  for (int step = 0; step < gather_steps && any_set(shared); ++step) {
    numbers = behind(trace, numbers, shared);
    if (numbers.empty()) break;
    Owners next(model, trace, grid, moved, numbers);
    shared = next.shared();
    if (!any_set(shared)) return next.sources();
  }
  return first.sources();
}

}  // namespace heed::check
