#include <heed/core/grad_mode.h>

namespace heed {
namespace {
thread_local bool recording = true;
}

bool grad_enabled() noexcept { return recording; }

GradMode::GradMode(bool enabled) noexcept : former_(recording) { recording = enabled; }
GradMode::~GradMode() { recording = former_; }

}  // namespace heed
