#pragma once

#include <map>
#include <string>
#include <vector>

namespace heed::test {

/// The contract block of an exported operation, as its header writes it. A part that the block takes over
/// from another operation ("Saves: as tril") is that operation's.
struct Contract {
  std::string op;
  std::string header;                        ///< path in the repository
  std::string equation;                      ///< what stands before the parts
  std::map<std::string, std::string> parts;  ///< Shapes, DTypes, Gradient, Order, Saves, Edge, Throws
};

/// Of all exported operations, by header and, within one, in the order of add_op.
std::vector<Contract> contracts();

}  // namespace heed::test
