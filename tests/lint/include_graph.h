#pragma once

#include <map>
#include <string>

#include <heed/tests/lint/rules.h>

namespace heed::lint {

/// Who includes whom, and where: `graph[from][to]` is "path:line" of the first such include.
using IncludeGraph = std::map<std::string, std::map<std::string, std::string>>;

/// Among the C++ files of the tree; what is not in the tree is left out.
IncludeGraph files_graph(const Tree& tree);

/// Among the innermost rooms of those files. A room does not include itself.
IncludeGraph rooms_graph(const Tree& tree);

/// The graph without the arrows that longer ways stand for: of a → c where there are a → b and b → … → c.
/// The graph must have no circle.
IncludeGraph without_implied(const IncludeGraph& graph);

}  // namespace heed::lint
