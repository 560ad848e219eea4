#pragma once

#include <csignal>

namespace heed::train {

/// Turns the first SIGINT or SIGTERM into a number that a loop can look at, so that it can end in order; the next one
/// ends the program at once. The former handlers come back at the end. One at a time in a program.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// The signal that came, 0 if none did.
  int signal() const;

 private:
  struct sigaction former_interrupt_ {};
  struct sigaction former_terminate_ {};
};

}  // namespace heed::train
