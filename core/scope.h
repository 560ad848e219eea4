#pragma once

#include <string>
#include <string_view>

#include <heed/core/restore.h>

namespace heed {

/// An interned path of module names such as `blocks.0.attention`. Lives for the whole program.
struct ScopeName {
  const ScopeName* parent;
  std::string name;
  std::string path() const;
};

/// Innermost scope of this thread; null outside of all.
const ScopeName* current_scope() noexcept;

/// Pushes a name for as long as it lives; nodes recorded meanwhile carry the path.
class Scope {
 public:
  explicit Scope(std::string_view name);
  /// Makes a path current that was so before, whatever scope this thread is in; null: outside of all.
  explicit Scope(const ScopeName* path) noexcept;

 private:
  Restore<const ScopeName*> innermost_;
};

}  // namespace heed
