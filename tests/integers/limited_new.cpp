#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t largest_block = std::size_t{1} << 30;

void* checked(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept { std::free(block); }

}  // namespace

// No block over 1 GiB: nothing in the tests needs one, and a wrong size is refused at once instead of being
// written to until memory ends. The other forms call these.
void* operator new(std::size_t bytes) {
  return checked(bytes > largest_block ? nullptr : std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return checked(bytes > largest_block ? nullptr
                                       : std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
