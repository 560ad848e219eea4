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

/// Rooms include only what lies below them, as the table in include_rules.cpp says. Kernels know no tensor,
/// and only sources, never headers, know kernels.
Findings check_layers(const Tree& tree);

/// Every third party has its place, BLAS and MPI a single file; there are no OpenMP pragmas.
Findings check_third_parties(const Tree& tree);

/// Public headers: `#pragma once`, nothing but heed and the standard library without what is slow to compile,
/// HEED_ before every macro, and no using-directive.
Findings check_public_headers(const Tree& tree);

/// No file over 500 lines.
Findings check_sizes(const Tree& tree);

/// No function over 40 lines from the first word of its declaration to its closing brace, in kernels
/// none over 60. Lambdas and local classes count to the function they stand in. Tests and benchmarks
/// may be longer.
Findings check_function_lengths(const Tree& tree);

/// No comment over 110 columns, and no line of a comment that holds the last word or two of a sentence alone.
Findings check_line_lengths(const Tree& tree);

/// No two namespaces of heed declare a type of one name in public headers; `detail` aside.
Findings check_type_names(const Tree& tree);

/// A header of the library declares into the namespace of its room or the `detail` in it: core and ops into
/// heed, kernels into heed::kernels, train/report into heed::train::report, and so on. A type of another room
/// may be named without its members.
Findings check_namespaces(const Tree& tree);

/// No circle of includes among files, and none among rooms.
Findings check_circles(const Tree& tree);

/// A payload, which is a struct with `vjp(VjpContext&)`, holds no bare tensor, neither itself nor in a
/// struct: SavedTensor and SavedStruct keep versions. And `visit_tensors` of a struct names all its tensors.
Findings check_payloads(const Tree& tree);

/// No work left for later without the number of its issue.
Findings check_leftovers(const Tree& tree);

/// Every function of an op header that gives tensors is listed by add_op, and every listed one is declared.
Findings check_exports(const Tree& tree, const std::vector<ExportedOp>& exported);

/// Every listed function has a contract: Shapes, DTypes, Gradient, Order, Saves and Throws in the comment
/// above it or above the group of declarations it stands in.
Findings check_contracts(const Tree& tree, const std::vector<ExportedOp>& exported);

}  // namespace heed::lint
