#include <cstdlib>
#include <new>

// No block over 1 GiB: nothing in the tests needs one, and a wrong size is refused at once instead of being
// written to until memory ends. All forms stand here, for those of a sanitizer end the program instead of
// throwing, and do not go with the others.
namespace {

void* taken(std::size_t bytes, std::size_t step) noexcept {
  if (bytes > std::size_t{1} << 30) return nullptr;
  return std::aligned_alloc(step, (bytes + step) / step * step);
}
void* taken(std::size_t bytes, std::align_val_t alignment) noexcept {
  return taken(bytes, static_cast<std::size_t>(alignment));
}

void* checked(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept { std::free(block); }

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t bytes) { return checked(taken(bytes, usual)); }
void* operator new[](std::size_t bytes) { return checked(taken(bytes, usual)); }
void* operator new(std::size_t bytes, std::align_val_t step) { return checked(taken(bytes, step)); }
void* operator new[](std::size_t bytes, std::align_val_t step) { return checked(taken(bytes, step)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return taken(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return taken(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t step, const std::nothrow_t&) noexcept {
  return taken(bytes, step);
}
void* operator new[](std::size_t bytes, std::align_val_t step, const std::nothrow_t&) noexcept {
  return taken(bytes, step);
}

void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
