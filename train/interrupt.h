#pragma once

#include <csignal>

namespace heed::train {

/// Turns the first SIGINT or SIGTERM into a number that a loop can query, so that it can end in order; a
/// second signal ends the program at once. The destructor restores the former handlers. Only one may exist
/// at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// The number of the signal that came, 0 if none did.
  int signal() const;

 private:
  struct sigaction former_interrupt_ {};
  struct sigaction former_terminate_ {};
};

}  // namespace heed::train
