#include <cstdint>

#include <heed/ops/kernels/targets.h>

// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/kernels/targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
std::int64_t this_target() { return HWY_TARGET; }
}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    names.emplace_back(hwy::TargetName(rest & -rest));  // better targets have lower bits
  }
  return names;
}

bool use_simd_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
  std::int64_t wanted = 0;
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    if (name == hwy::TargetName(rest & -rest)) wanted = rest & -rest;
  }
  if (wanted != 0) hwy::SetSupportedTargetsForTest(wanted);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return wanted != 0 || name.empty();
}

}  // namespace heed::kernels
#endif
