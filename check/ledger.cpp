#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include <heed/check/ledger.h>

namespace heed::check {
namespace {

// Adds up the rows of each name; largest at the peak first, equal ones by name.
std::vector<LedgerRow> totals_by(std::string LedgerRow::*name, const std::vector<LedgerRow>& rows) {
  std::vector<LedgerRow> totals;
  for (const LedgerRow& row : rows) {
    auto at = std::find_if(totals.begin(), totals.end(),
                           [&](const LedgerRow& total) { return total.*name == row.*name; });
    if (at == totals.end()) {
      at = totals.insert(totals.end(), LedgerRow());
      (*at).*name = row.*name;
    }
    at->nodes += row.nodes;
    at->saved_now += row.saved_now;
    at->saved_at_peak += row.saved_at_peak;
  }
  std::sort(totals.begin(), totals.end(), [&](const LedgerRow& a, const LedgerRow& b) {
    return a.saved_at_peak != b.saved_at_peak ? a.saved_at_peak > b.saved_at_peak : a.*name < b.*name;
  });
  return totals;
}

void append_table(std::string& text, const char* title, std::string LedgerRow::*name,
                  const std::vector<LedgerRow>& rows) {
  const std::vector<LedgerRow> totals = totals_by(name, rows);
  std::size_t width = std::char_traits<char>::length(title);
  for (const LedgerRow& row : totals) width = std::max(width, (row.*name).size());
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{:<{}}  {:>14}  {:>14}  {:>8}\n", title, width, "saved at peak", "saved now",
                 "nodes");
  for (const LedgerRow& row : totals) {
    const std::string& shown = row.*name;
    fmt::format_to(out, "{:<{}}  {:>14}  {:>14}  {:>8}\n", shown.empty() ? "-" : shown, width,
                   row.saved_at_peak, row.saved_now, row.nodes);
  }
}

}  // namespace

std::string ledger_report(const LedgerCounts& counts) {
  std::string text =
      fmt::format("saved bytes: {} at the peak ({} in storages), {} now ({} in storages)\n",
                  counts.saved_at_peak, counts.unique_at_peak, counts.saved_now, counts.unique_now);
  append_table(text, "operation", &LedgerRow::op, counts.rows);
  append_table(text, "module", &LedgerRow::module, counts.rows);
  return text;
}

}  // namespace heed::check
