#include <heed/core/grad_mode.h>

namespace heed {
namespace {
constinit thread_local bool recording = true;
}

bool grad_enabled() noexcept { return recording; }

GradMode::GradMode(bool enabled) noexcept : recording_(recording, enabled) {}

}  // namespace heed
