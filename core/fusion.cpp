#include <heed/core/fusion.h>

namespace heed {
namespace {
constinit thread_local bool fusing = true;
}

bool fusion_enabled() noexcept { return fusing; }

NoFusion::NoFusion() noexcept : fusing_(fusing, false) {}

}  // namespace heed
