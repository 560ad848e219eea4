#include "rows.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>

namespace heed::test {

namespace {

struct Tally {
  std::set<std::string> ops;
  long checks = 0;
  Tally() = default;
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() { std::printf("generic suite: %zu operations, %ld checks\n", ops.size(), checks); }
};

}  // namespace

void count_check(const OpCase& c) {
  static Tally tally;
  tally.ops.insert(c.op);
  ++tally.checks;
}

std::vector<const OpCase*> selected_cases() {
  const char* only = std::getenv("HEED_OP");
  std::vector<const OpCase*> selected;
  for (const OpCase& c : op_cases()) {
    if (only == nullptr || c.op == only) selected.push_back(&c);
  }
  return selected;
}

void require_close(const Array& got, const Array& wanted, double tolerance) {
  REQUIRE(got.shape == wanted.shape);
  REQUIRE(got.values.size() == wanted.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double g = got.values[i];
    const double w = wanted.values[i];
    CAPTURE(i, g, w);
    const bool same = g == w || (std::isnan(g) && std::isnan(w));
    REQUIRE((same || std::abs(g - w) <= tolerance * (1 + std::abs(w))));
  }
}

void require_same_gradients(const Tensors& got, const Tensors& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(got[i].defined() == wanted[i].defined());
    if (got[i].defined()) require_close(to_array(got[i]), to_array(wanted[i]), tolerance);
  }
}

Tensors wanted_of(const Tensors& inputs) {
  Tensors wanted;
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) wanted.push_back(x);
  }
  return wanted;
}

Tensors cotangents_for(const Tensors& outputs) {
  Generator generator(7);
  Tensors cotangents;
  for (const Tensor& y : outputs) {
    cotangents.push_back(y.requires_grad() ? randn(y.shape(), generator, y.dtype()) : Tensor());
  }
  return cotangents;
}

Tensors gradients_of(const Tensors& outputs, const Tensors& wanted, const Tensors& cotangents, bool retain,
                     bool record) {
  Tensors roots;
  GradOptions options{.retain_graph = retain, .create_graph = record, .allow_unused = true};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  if (roots.empty()) return Tensors(wanted.size());
  return grad(roots, wanted, options);
}

Tensors gradients_of(const Tensors& outputs, const Tensors& wanted, bool retain) {
  return gradients_of(outputs, wanted, cotangents_for(outputs), retain);
}

namespace {

// x as `view` of a buffer of `size` ones.
Tensor placed(const Tensor& x, const View& view, std::int64_t size) {
  Tensor y = view_of(full({size}, 1, x.dtype()), view);
  y.copy_(x.detach());
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

}  // namespace

Tensor spread(const Tensor& x) {
  View view = x.view();
  std::int64_t step = 2;
  for (int k = x.rank() - 1; k >= 0; --k) {
    view.strides[k] = step;
    step *= x.shape()[k] + 1;
  }
  view.offset = 3;
  return placed(x, view, step + 3);
}

Tensor backwards(const Tensor& x) {
  View view = x.view();
  std::int64_t step = 1;
  for (int k = 0; k < x.rank(); ++k) {
    view.strides[k] = -step;
    step *= x.shape()[k];
  }
  view.offset = x.numel() == 0 ? 0 : x.numel() - 1;
  return placed(x, view, x.numel());
}

Tensor repeated(const Tensor& x) {
  View view = x.view();
  if (x.rank() > 0) view.strides[0] = 0;
  Tensor y = view_of(x.detach(), view);
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

Tensor dense(const Tensor& x) {
  Tensor y = copy_of(x);
  if (x.requires_grad()) y.set_requires_grad();
  return y;
}

}  // namespace heed::test
