#pragma once

#include <cstdint>
#include <string>

#include <heed/check/isolation_probe.h>

namespace heed::check {

/// Rows that depend on nothing although their token counts.
struct DeadRows {
  std::int64_t count = 0;
  SequencePlace first = {};
  std::string op = {};     ///< the attention whose queries they are; empty: they are rows of y
  std::string scope = {};  ///< the module it ran in
};

/// Finds rows of y at the places `alive` that keep their bits whatever x holds at these places, and that
/// are zero or do change in another sample. If there are none, finds queries of `attention` that depend on
/// these places and on no others, and get zeros.
DeadRows find_dead_rows(const IsolationProbe& probe, const Places& alive);

}  // namespace heed::check
