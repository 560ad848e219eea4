#pragma once

#include <map>
#include <string>

#include "call.h"
#include "case.h"

namespace heed::conformance {

using Environment = std::map<std::string, Tensor>;

/// Carries out the operations of a case in order on the values in `values` (its inputs and initializers) and
/// adds their results. Throws Skip for what is not understood.
void run_nodes(const Case& test, Environment& values);

/// Throws Skip where the case holds a type that heed has not.
void require_known_types(const Case& test);

}  // namespace heed::conformance
