#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace heed {

class Node;

/// Numbers nodes in the order they are inserted: an open-addressing hash table of 32-bit numbers.
class NodeIndex {
 public:
  static constexpr std::uint32_t none = (std::numeric_limits<std::uint32_t>::max)();

  /// The number of `node`, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const Node* node) {
    if ((nodes_.size() + 1) * 2 > table_.size()) grow();
    std::uint32_t& cell = probe(node);
    if (cell != none) return {cell, false};
    cell = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    return {cell, true};
  }

  std::uint32_t find(const Node* node) const {
    return table_.empty() ? none : const_cast<NodeIndex*>(this)->probe(node);
  }

 private:
  // The cell of `node`, or the free one where it belongs.
  std::uint32_t& probe(const Node* node) {
    const auto key =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(node)) >> 5;  // nodes are 32-aligned
    const std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    std::size_t at = static_cast<std::size_t>(hash >> shift_);
    while (table_[at] != none && nodes_[table_[at]] != node) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }

  void grow() {
    table_.assign(table_.empty() ? 64 : table_.size() * 4, none);
    shift_ = 64 - std::countr_zero(table_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) probe(nodes_[i]) = i;
  }

  std::vector<const Node*> nodes_;
  std::vector<std::uint32_t> table_;
  int shift_ = 64;
};

}  // namespace heed
