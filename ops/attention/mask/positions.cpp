#include <heed/ops/attention/mask/positions.h>
#include <heed/ops/cast.h>

namespace heed::detail {

std::vector<std::int64_t> integers_of(const Tensor& x) {
  return cast(x.detach(), DType::i64).to_vector<std::int64_t>();
}

}  // namespace heed::detail
