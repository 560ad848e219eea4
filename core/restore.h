#pragma once

#include <utility>

namespace heed {

/// Sets a variable for a scope and puts its former value back at the end, exceptions included. A Restore of a
/// thread-local variable must be destroyed on the thread that made it.
template <class T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), former_(std::exchange(variable, std::move(value))) {}
  ~Restore() { variable_ = std::move(former_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T former_;
};

}  // namespace heed
