#include <heed/ops/arithmetic.h>
#include <heed/ops/concat.h>
#include <heed/ops/gather.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/squeeze.h>
#include <heed/ops/transpose.h>

#include "tables.h"

namespace heed::conformance {
namespace {

/// cos and sin [B or 1, L, 1 or heads.., n/2] lie beside x [B, L, heads, n].
Tensor rotated(const Tensor& x, const Tensor& cosine, const Tensor& sine, bool interleaved) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor a = interleaved ? slice(x, -1, 0, {}, 2) : narrow(x, -1, 0, half);
  const Tensor b = interleaved ? slice(x, -1, 1, {}, 2) : narrow(x, -1, half, half);
  const Tensor real = sub(mul(a, cosine), mul(b, sine));
  const Tensor imaginary = add(mul(a, sine), mul(b, cosine));
  if (!interleaved) return concat({real, imaginary}, -1);
  return reshape(stack({real, imaginary}, -1), x.shape());
}

/// x [B, heads, L, D] or [B, L, heads·D], caches [positions, n/2] with
/// position_ids, else [B, L, n/2].
Tensors rotary_embedding(const Call& call) {
  const Tensor given = call.at(0);
  const bool packed = given.rank() == 3;
  const std::int64_t heads = packed ? call.attributes.integer("num_heads") : given.size(1);
  (void)call.attributes.has("num_heads");
  const Tensor x = packed ? reshape(given, {given.size(0), given.size(1), heads, given.size(2) / heads})
                          : transpose(given, 1, 2);
  const std::int64_t rotary = call.attributes.integer("rotary_embedding_dim", 0);
  const std::int64_t width = rotary == 0 ? x.size(-1) : rotary;
  const auto angles = [&](const Tensor& cache) {
    const Tensor positions = call.at(3);
    if (!positions.defined()) return unsqueeze(cache, 2);
    const Tensor rows = index_select(cache, 0, flatten(positions));
    return reshape(rows, {positions.size(0), positions.size(1), 1, cache.size(-1)});
  };
  const bool interleaved = call.attributes.flag("interleaved");
  Tensor y = rotated(narrow(x, -1, 0, width), angles(call.at(1)), angles(call.at(2)), interleaved);
  if (width < x.size(-1)) y = concat({y, narrow(x, -1, width, x.size(-1) - width)}, -1);
  return {packed ? reshape(y, given.shape()) : transpose(y, 1, 2)};
}

}  // namespace

void add_onnx_rope(Table& table) { table["RotaryEmbedding"] = rotary_embedding; }

}  // namespace heed::conformance
