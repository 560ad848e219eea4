#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace heed {

class Node;

/// Numbers nodes in the order they are inserted: an open-addressing hash table from pointers to 32-bit
/// numbers.
class NodeIndex {
 public:
  static constexpr std::uint32_t none = (std::numeric_limits<std::uint32_t>::max)();

  /// The number of `node`, `number` if it is new; and whether it is.
  std::pair<std::uint32_t, bool> insert(const Node* node, std::uint32_t number) {
    if ((count_ + 1) * 2 > table_.size()) grow();
    Cell& cell = probe(node);
    if (cell.node == node) return {cell.number, false};
    cell = {node, number};
    ++count_;
    return {number, true};
  }

  std::uint32_t find(const Node* node) const {
    return table_.empty() ? none : const_cast<NodeIndex*>(this)->probe(node).number;
  }

 private:
  struct Cell {
    const Node* node = nullptr;
    std::uint32_t number = none;
  };

  // The cell of `node`, or the free one where it belongs.
  Cell& probe(const Node* node) {
    const auto key =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(node)) >> 6;  // nodes are 64-aligned
    const std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    std::size_t at = static_cast<std::size_t>(hash >> shift_);
    while (table_[at].node != nullptr && table_[at].node != node) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }

  void grow() {
    const std::vector<Cell> old =
        std::exchange(table_, std::vector<Cell>(table_.empty() ? 64 : table_.size() * 4));
    shift_ = 64 - std::countr_zero(table_.size());
    for (const Cell& cell : old) {
      if (cell.node != nullptr) probe(cell.node) = cell;
    }
  }

  std::vector<Cell> table_;
  std::size_t count_ = 0;
  int shift_ = 64;
};

}  // namespace heed
