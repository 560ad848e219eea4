#pragma once

#include <heed/core/restore.h>

namespace heed {

/// Whether operations of this thread are recorded. Every thread starts with true.
bool grad_enabled() noexcept;

/// Sets the recording mode of this thread for a scope and restores the former one at
/// its end, exceptions included.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept;

 private:
  Restore<bool> recording_;
};

/// `NoGrad guard;` — nothing is recorded on this thread while it lives.
class NoGrad : public GradMode {
 public:
  NoGrad() noexcept : GradMode(false) {}
};

}  // namespace heed
