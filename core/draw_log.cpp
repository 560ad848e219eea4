#include <fmt/format.h>

#include <heed/core/draw_log.h>
#include <heed/core/error.h>

namespace heed {
namespace {

constinit thread_local detail::DrawWatch* draw_watch = nullptr;

// The stream of a draw, which passes the logs from `watch` outwards.
RandomStream draw_through(detail::DrawWatch* watch, RandomStream& state) {
  if (watch == nullptr) {
    const RandomStream stream = state;
    ++state.offset;
    return stream;
  }
  if (watch->record != nullptr) {
    const RandomStream stream = draw_through(watch->outer, state);
    watch->record->push_back(stream);
    return stream;
  }
  if (watch->next == watch->replay->size()) {
    fail<GradError>("random", "a computation that is run again draws more than the first time",
                    fmt::format("it drew {} times", watch->next), "the same draws");
  }
  return (*watch->replay)[watch->next++];
}

}  // namespace

RandomStream detail::draw(RandomStream& state) { return draw_through(draw_watch, state); }

RecordDraws::RecordDraws(DrawLog& log) noexcept
    : watch_{draw_watch, &log, nullptr, 0}, innermost_(draw_watch, &watch_) {}

ReplayDraws::ReplayDraws(const DrawLog& log) noexcept
    : watch_{draw_watch, nullptr, &log, 0}, innermost_(draw_watch, &watch_) {}

}  // namespace heed
