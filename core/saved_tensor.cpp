#include <utility>

#include <heed/core/saved_tensor.h>
#include <heed/core/tape_observer.h>
#include <heed/core/view.h>

namespace heed {
namespace {

constinit thread_local std::int64_t saved_so_far = 0;  // bytes

}  // namespace

SavedTensor::SavedTensor(Tensor tensor, const char* name, bool is_output, std::uint32_t output)
    : tensor_(std::move(tensor)), name_(name), output_(output & 0x7fffffffu), is_output_(is_output) {
  if (!tensor_.defined()) return;
  version_ = tensor_.storage()->version();
  saved_so_far +=
      static_cast<std::int64_t>(static_cast<std::size_t>(tensor_.numel()) * size_of(tensor_.dtype()));
  if (TapeObserver::any()) [[unlikely]]
    TapeObserver::tell_all([&](TapeObserver& observer) { observer.on_saved(tensor_); });
}

SavedTensor save_input(const Tensor& x, const char* name) { return {x, name, false, 0}; }

SavedTensor save_output(const Tensor& y, const char* name, std::uint32_t output) {
  return {view_of(y, y.view()), name, true, output};
}

namespace detail {

void begin_saving() {
  saved_so_far = 0;
  if (TapeObserver::any()) [[unlikely]]
    TapeObserver::tell_all([](TapeObserver& observer) { observer.before_saving(); });
}

std::int64_t end_saving() { return saved_so_far; }

}  // namespace detail
}  // namespace heed
