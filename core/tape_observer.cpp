#include <string_view>

#include <heed/core/tape_observer.h>

namespace heed {

constinit thread_local TapeObserver* TapeObserver::innermost = nullptr;

TapeObserver::TapeObserver(const char* kind) noexcept : outer_(innermost), kind_(kind) {
  innermost = this;
  if (TapeObserver* hidden = next_of_kind()) hidden->listens_ = false;
}

TapeObserver::~TapeObserver() {
  if (TapeObserver* hidden = next_of_kind(); hidden != nullptr && listens_) hidden->listens_ = true;
  TapeObserver** link = &innermost;
  while (*link != this) link = &(*link)->outer_;  // the first, unless observers are destroyed out of order
  *link = outer_;
}

// The next outer observer of this one's kind; null where there is none.
TapeObserver* TapeObserver::next_of_kind() const noexcept {
  if (kind_ == nullptr) return nullptr;
  for (TapeObserver* observer = outer_; observer != nullptr; observer = observer->outer_) {
    if (observer->kind_ != nullptr && std::string_view(observer->kind_) == kind_) return observer;
  }
  return nullptr;
}

}  // namespace heed
