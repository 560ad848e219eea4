#pragma once

#include <string>
#include <vector>

#include <heed/tests/lint/source_tree.h>

namespace heed::lint {

/// What a rule has against the tree, one line each: "path:line: reason". Empty when all is well.
using Findings = std::vector<std::string>;
using Tree = std::vector<SourceFile>;

/// A function that an `add_op` line in ops/CMakeLists.txt lists.
struct ExportedOp {
  std::string header;
  std::string function;
};

/// core ← ops ← nn ← train, core ← io ← train, and core, ops, nn ← check ← train. Kernels know no tensor, and
/// only sources, never headers, know kernels.
Findings check_layers(const Tree& tree);

/// Every third party has its place, BLAS and MPI a single file; OpenMP pragmas stay in core/parallel and
/// kernels.
Findings check_third_parties(const Tree& tree);

/// Public headers: `#pragma once`, nothing but heed and the standard library without what is slow to compile, HEED_
/// before every macro, and no using-directive.
Findings check_public_headers(const Tree& tree);

/// No file over 500 lines.
Findings check_sizes(const Tree& tree);

/// No work left for later without the number of its issue.
Findings check_leftovers(const Tree& tree);

/// Every function of an op header that gives tensors is listed by add_op, and every listed one is declared.
Findings check_exports(const Tree& tree, const std::vector<ExportedOp>& exported);

/// Every listed function has a contract: Shapes, DTypes, Gradient, Order, Saves and Throws in the comment
/// above it or above the group of declarations it stands in.
Findings check_contracts(const Tree& tree, const std::vector<ExportedOp>& exported);

}  // namespace heed::lint
