#include <utility>

#include <heed/core/fusion.h>

namespace heed {
namespace {
thread_local bool fusing = true;
}

bool fusion_enabled() noexcept { return fusing; }

NoFusion::NoFusion() noexcept : former_(std::exchange(fusing, false)) {}
NoFusion::~NoFusion() { fusing = former_; }

}  // namespace heed
