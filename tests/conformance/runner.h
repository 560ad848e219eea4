#pragma once

#include <string>
#include <vector>

#include "case.h"

namespace heed::conformance {

enum class Outcome { passed, failed, skipped };

struct Report {
  Outcome outcome = Outcome::passed;
  /// One line for each output that is wrong, or the reason of a skip.
  std::vector<std::string> lines;
};

struct RunOptions {
  /// Hold the F32 results of the onnx suite to rtol 1e-5, atol 1e-6.
  bool strict = false;
};

Report run_case(const Case& test, const RunOptions& options);

}  // namespace heed::conformance
