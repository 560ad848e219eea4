#pragma once

#include <string>
#include <vector>

namespace heed::kernels {

/// Names of the instruction sets that kernels were compiled for and this CPU runs, best first, such
/// as AVX2, SSE4, SCALAR.
std::vector<std::string> simd_targets();

/// Makes all kernels use this instruction set, or the best again if the name is empty. False if it is none of
/// `simd_targets()`. For tests; not while kernels run.
bool use_simd_target(const std::string& name);

}  // namespace heed::kernels
