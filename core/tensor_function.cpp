#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/tensor_function.h>

namespace heed {

void detail::fail_arity(std::size_t given, std::size_t taken) {
  fail<ValueError>("TensorFunction", "wrong number of tensors", fmt::format("{} were given", given),
                   fmt::format("{}, which the function takes", taken));
}

}  // namespace heed
