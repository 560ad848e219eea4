#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <heed/tests/lint/include_graph.h>
#include <heed/tests/lint/rules.h>

namespace heed::lint::house {

/// A room of the library with those inside it, or all folders of programs.
struct Room {
  std::string name;
  /// What it holds, in a few words.
  std::string words;
  /// Those of the rooms inside are counted with it.
  int files = 0, lines = 0;
  std::vector<Room> inner = {};
};

/// The rooms, without tests and benchmarks, and the arrows among them that no longer way implies.
struct House {
  std::vector<Room> rooms;
  /// Among rooms that lie in no other, with those inside counted as theirs.
  IncludeGraph arrows;
  /// Among rooms inside the same one.
  std::set<std::pair<std::string, std::string>> inner_arrows;
};

/// Of the C++ files of a tree.
House house_of(const Tree& tree);

}  // namespace heed::lint::house
