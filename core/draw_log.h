#pragma once

#include <cstddef>
#include <vector>

#include <heed/core/random.h>
#include <heed/core/restore.h>

namespace heed {

/// What Generators handed out on this thread, so that a computation can be run again with the same random
/// numbers. Draws made on threads that the computation starts itself are not in it.
using DrawLog = std::vector<RandomStream>;

namespace detail {
/// The next stream of a generator in this state, noted in or taken from the logs of this thread.
RandomStream draw(RandomStream& state);

/// One of the logs that watch a thread's draws, the innermost first.
struct DrawWatch {
  DrawWatch* outer = nullptr;
  DrawLog* record = nullptr;
  const DrawLog* replay = nullptr;
  std::size_t next = 0;
};
}  // namespace detail

/// While it lives, every `Generator::take` of this thread is written down in `log`. May nest: outer logs see
/// the draws too.
class RecordDraws {
 public:
  explicit RecordDraws(DrawLog& log) noexcept;

 private:
  detail::DrawWatch watch_;
  Restore<detail::DrawWatch*> innermost_;
};

/// While it lives, `Generator::take` of this thread hands out what `log` holds, in its order, and moves no
/// generator at all.
/// Throws    GradError (from `take`, when the log is at its end).
class ReplayDraws {
 public:
  explicit ReplayDraws(const DrawLog& log) noexcept;
  /// Draws of the log that nobody asked for yet.
  std::size_t left() const { return watch_.replay->size() - watch_.next; }

 private:
  detail::DrawWatch watch_;
  Restore<detail::DrawWatch*> innermost_;
};

}  // namespace heed
