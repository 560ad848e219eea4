#include <algorithm>
#include <vector>

#include <heed/app/spelling.h>

namespace heed::app {
namespace {

// Flags are compared without their dashes, which every one has.
std::string_view letters(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

bool near(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return false;
  if (a.starts_with(b) || b.starts_with(a)) return true;
  return 2 * edit_distance(a, b) <= std::max(a.size(), b.size());
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // cost[i][j]: of the first i letters of a and the first j of b.
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& least = cost[i][j] = i + j;
      if (i > 0) least = std::min(least, cost[i - 1][j] + 1);
      if (j > 0) least = std::min(least, cost[i][j - 1] + 1);
      if (i > 0 && j > 0) least = std::min(least, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  const auto distance = [&](const std::string& name) { return edit_distance(letters(word), letters(name)); };
  const std::string* nearest = nullptr;
  for (const std::string& name : names) {
    if (!near(letters(word), letters(name))) continue;
    if (nearest == nullptr || distance(name) < distance(*nearest)) nearest = &name;
  }
  return nearest == nullptr ? std::string() : *nearest;
}

}  // namespace heed::app
