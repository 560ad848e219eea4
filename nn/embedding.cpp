#include <heed/core/arguments.h>
#include <heed/nn/embedding.h>
#include <heed/nn/init.h>
#include <heed/ops/embedding.h>

namespace heed::nn {

Embedding::Embedding(const EmbeddingOptions& options, Generator& generator)
    : Module("Embedding"), options_(options) {
  check_value(options.count >= 1, "Embedding", "count", options.count, "at least 1");
  check_value(options.dim >= 1, "Embedding", "dim", options.dim, "at least 1");
  weight = normal_parameter({options.count, options.dim}, generator);
}

Tensor Embedding::operator()(const Tensor& indices) const {
  const Scope scope = enter();
  return embedding(weight, indices);
}

}  // namespace heed::nn
