#pragma once

#include <cstdint>

#include <heed/core/tensor.h>

namespace heed {

/// A tensor kept for backward, with the version it had. Made by `save_input` or
/// `save_output` inside a payload.
class SavedTensor {
 public:
  SavedTensor() = default;
  bool defined() const { return tensor_.defined(); }

 private:
  friend SavedTensor save_input(const Tensor& x, const char* name);
  friend SavedTensor save_output(const Tensor& y, const char* name, std::uint32_t output);
  friend class VjpContext;
  SavedTensor(Tensor tensor, const char* name, bool is_output, std::uint32_t output);

  Tensor tensor_;
  const char* name_ = "";
  std::uint32_t version_ = 0;
  std::uint32_t output_ : 31 = 0;
  std::uint32_t is_output_ : 1 = 0;
};

/// Saves an operand: the handle with its history. `name` is the argument's name in
/// messages. Undefined stays undefined.
SavedTensor save_input(const Tensor& x, const char* name);

/// Saves result number `output`: the elements alone; unpacking attaches the history again. So a
/// node never owns itself.
SavedTensor save_output(const Tensor& y, const char* name, std::uint32_t output = 0);

namespace detail {

/// The bytes that this thread saves between the two calls: a payload's.
void begin_saving();
std::int64_t end_saving();

}  // namespace detail
}  // namespace heed
