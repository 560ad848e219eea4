#pragma once

#include <heed/core/restore.h>

namespace heed {

/// Whether operations of this thread take their fused forms. Every thread starts with true.
bool fusion_enabled() noexcept;

/// `NoFusion guard;` — while it lives, what runs on this thread is composed of smaller recorded operations:
/// attention (scores and weights in memory), linear (product, then bias), layer_norm, rms_norm and
/// cross_entropy in forward, and every backward rule that has a fused form. Slower, with more memory; the
/// same values up to rounding. So both can be checked, and one by the other.
class NoFusion {
 public:
  NoFusion() noexcept;

 private:
  Restore<bool> fusing_;
};

}  // namespace heed
