#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <heed/core/scope.h>

namespace heed {
namespace {

constinit thread_local const ScopeName* innermost = nullptr;

const ScopeName* intern(const ScopeName* parent, std::string_view name) {
  using Key = std::pair<const ScopeName*, std::string>;
  static std::mutex mutex;
  static auto* names = new std::map<Key, std::unique_ptr<ScopeName>>;  // nodes may outlive static destruction
  const std::lock_guard lock(mutex);
  auto& entry = (*names)[Key(parent, name)];
  if (!entry) entry = std::make_unique<ScopeName>(ScopeName{parent, std::string(name)});
  return entry.get();
}

}  // namespace

std::string ScopeName::path() const {
  if (parent == nullptr) return name;
  const std::string above = parent->path();
  return above.empty() ? name : above + "." + name;
}

const ScopeName* current_scope() noexcept { return innermost; }

Scope::Scope(std::string_view name) : innermost_(innermost, intern(innermost, name)) {}
Scope::Scope(const ScopeName* path) noexcept : innermost_(innermost, path) {}

}  // namespace heed
