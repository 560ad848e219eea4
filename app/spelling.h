#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heed::app {

/// How many letters must be added, removed, replaced or swapped with their neighbour to make one word of the
/// other, each place being touched once.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that a misspelt word means: the nearest, or the earlier of two that are equally near. Empty if
/// none is near: half of the letters may differ, or one of the two begins with the other.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace heed::app
