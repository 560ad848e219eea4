#pragma once

#include <string>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::check {

/// A leaf on a tape, and who reads it.
struct TapeLeaf {
  const void* node = nullptr;
  std::string reader = {};  ///< such as "f32[3, 3], read by linear in pair.first"
};
/// The leaves that a result depends on.
std::vector<TapeLeaf> leaves_on_tape(const Tensor& result);

/// Which rows of a table embeddings on the tape of a result looked up; empty where none did. Rows of a
/// padding index do not count.
std::vector<bool> rows_looked_up(const Tensor& result, const Tensor& table);

}  // namespace heed::check
