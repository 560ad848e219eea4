#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/nn/dropout.h>
#include <heed/ops/dropout.h>

namespace heed::nn {

Dropout::Dropout(const DropoutOptions& options) : Module("Dropout"), options_(options) {
  check_value(options.p >= 0 && options.p <= 1, "Dropout", "p", options.p, "0 <= p <= 1");
}

Tensor Dropout::operator()(const Tensor& x, Generator* generator) const {
  if (!training() || options_.p == 0) return x;
  const Scope scope = enter();
  return dropout(x, options_.p, need_generator(name(), options_.p, generator));
}

Generator& need_generator(std::string_view module, double p, Generator* generator) {
  if (generator == nullptr) {
    fail<ValueError>(module, "no generator was given", fmt::format("dropout is {} in training mode", p),
                     "a Generator to draw from, or eval()");
  }
  return *generator;
}

}  // namespace heed::nn
