#pragma once

#include <string>

#include <heed/check/isolation_probe.h>

namespace heed::check {

struct CarryingOp {
  std::string op = {};
  std::string scope = {};
};

/// The operation that first carries a leak from the place `from` of x to the place `to` of y. It is the
/// first one with a result in which an element changes with x at `from` and y at `to` depends on that
/// element (the derivative is not zero), while no element is clean. An element is clean if it changes with
/// x at `to` and with none of the forbidden places, and if y at `to`, or nothing, depends on it. (The first
/// query of causal attention has one key, and is not considered.)
/// Where neither side may depend on the other, as with two documents, it is also the first operation with
/// an element that depends on both.
/// A row of a result belongs to the tokens whose change changes it; no layout is assumed. Where y does not
/// depend on its own token, as in a sequence that is only shifted or reversed, it is the first operation
/// that moves the row. The names are empty if the tape shows no such operation.
CarryingOp find_carrying_op(const IsolationProbe& probe, const IsolationQuestion& question,
                            const IsolationLeak& leak);

}  // namespace heed::check
