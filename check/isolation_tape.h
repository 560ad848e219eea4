#pragma once

#include <string>

#include <heed/check/isolation_probe.h>

namespace heed::check {

struct CarryingOp {
  std::string op = {};
  std::string scope = {};
};

/// The operation that first carries a leak from a place of x to a place of y: the first one with a result
/// where
///   an element hears `from` (another value there changes it) and y at `to` reads it (the derivative is not
///   zero), while no element is as it should be: changed by x at `to`, by none of the forbidden places, and
///   read by y at `to` or by nobody (the first query of causal attention has one key, and is not asked).
/// or, where neither side may hear the other, such as two documents, the first one with an element that hears
/// both. A row of a result belongs to the tokens whose change changes it; no layout is assumed. Where y does
/// not hear its own token, as in a sequence that is only shifted or reversed, it is the first operation that
/// moves the row. Empty names if the tape shows none.
CarryingOp find_carrying_op(const IsolationProbe& probe, const IsolationQuestion& question,
                            const IsolationLeak& leak);

}  // namespace heed::check
