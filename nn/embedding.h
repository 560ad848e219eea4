#pragma once

#include <heed/core/random.h>
#include <heed/nn/module.h>

namespace heed::nn {

struct EmbeddingOptions {
  std::int64_t count = 0;  // rows, such as the size of a vocabulary
  std::int64_t dim = 0;    // of each row
};

/// y = weight[indices].   indices i64 or i32 [..] → y [.., dim].   weight [count, dim], from N(0, 1).
/// Throws    ValueError (a size below 1), at the call IndexError for an index outside 0 … count−1.
class Embedding final : public Module {
 public:
  Embedding(const EmbeddingOptions& options, Generator& generator);
  const EmbeddingOptions& options() const { return options_; }

  Tensor operator()(const Tensor& indices) const;

  Tensor weight;

 protected:
  HEED_MEMBERS(weight)

 private:
  EmbeddingOptions options_;
};

}  // namespace heed::nn
