#pragma once

#include <string>
#include <string_view>

#include <heed/tests/lint/rules.h>

namespace heed::lint::house {

/// The rooms of the repository and the includes among them, as an SVG for light and dark screens. The same
/// tree gives the same bytes.
std::string drawing_of(const Tree& tree);

/// A drawing without the numbers of files and lines, which change with every commit.
std::string without_counts(std::string_view drawing);

}  // namespace heed::lint::house
