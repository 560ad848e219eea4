#include <chrono>
#include <utility>

#include <heed/core/node.h>
#include <heed/core/tape_clock.h>

namespace heed {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TapeClock::TapeClock() : TapeObserver("clock"), last_(now()) {}

void TapeClock::restart() { last_ = now(); }

void TapeClock::on_recorded(const RecordedOperation& operation) {
  ClockRow& row = row_of(operation.node);
  ++row.nodes;
  row.forward += lap();
}

void TapeClock::before_vjp(const Node&) { restart(); }

void TapeClock::after_vjp(const Node& node) { row_of(node).backward += lap(); }

ClockRow& TapeClock::row_of(const Node& node) {
  const auto [at, added] = places_.try_emplace(node.op(), rows_.size());
  if (added) rows_.push_back({.op = node.op()});
  return rows_[at->second];
}

double TapeClock::lap() {
  const double end = now();
  return end - std::exchange(last_, end);
}

}  // namespace heed
