// Chains of view operations on a leaf against a map of indices: values after each step, and the gradient
// at the end.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/ops.h>

#include "../support/index_map.h"
#include "../support/op_case.h"
#include "program.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr std::int64_t most_elements = 400;

// A view and what it should be: element i in row-major order is element places[i] of the leaf.
struct Chain {
  Tensor leaf;
  Tensor view;
  IndexMap map;
  std::ostringstream text;

  Chain() {
    Generator generator(5);
    leaf = randn({3, 2, 4}, generator, DType::f64).set_requires_grad();
    view = leaf;
    map.shape = leaf.shape();
    map.places.resize(static_cast<std::size_t>(leaf.numel()));
    std::iota(map.places.begin(), map.places.end(), std::int64_t{0});
    text << "x = leaf of shape " << leaf.shape().str() << "\n";
  }
  int rank() const { return map.shape.rank(); }
};

using Numbers = std::array<std::uint32_t, 4>;

std::int64_t below(std::uint32_t number, std::int64_t n) { return number % static_cast<std::uint32_t>(n); }

// Every other use counts the axis from the end.
std::int64_t axis_name(std::uint32_t number, int axis, int rank) { return number & 1 ? axis - rank : axis; }

void slice_or_narrow(Chain& c, const Numbers& n) {
  if (c.rank() == 0) return;
  const int axis = static_cast<int>(below(n[1], c.rank()));
  const std::int64_t size = c.map.shape[axis];
  std::vector<std::int64_t> taken;
  if (n[0] & 64) {
    const std::int64_t start = below(n[2], size + 1);
    const std::int64_t length = below(n[3], size - start + 1);
    c.text << "x = narrow(x, " << axis << ", " << start << ", " << length << ")\n";
    c.view = narrow(c.view, axis_name(n[3], axis, c.rank()), start, length);
    taken.resize(static_cast<std::size_t>(length));
    std::iota(taken.begin(), taken.end(), start);
  } else {
    const std::optional<std::int64_t> start =
        n[2] & 1 ? std::optional(below(n[2] >> 1, 9) - 4) : std::nullopt;
    const std::optional<std::int64_t> stop = n[3] & 1 ? std::optional(below(n[3] >> 1, 9) - 4) : std::nullopt;
    const std::int64_t step = std::array<std::int64_t, 5>{1, -1, 2, -2, 3}[n[0] / 128 % 5];
    const auto name = [](const auto& bound) { return bound ? std::to_string(*bound) : std::string("{}"); };
    c.text << "x = slice(x, " << axis << ", " << name(start) << ", " << name(stop) << ", " << step << ")\n";
    c.view = slice(c.view, axis_name(n[3] >> 8, axis, c.rank()), start, stop, step);
    taken = sliced(size, start, stop, step);
  }
  Shape to = c.map.shape;
  to[axis] = static_cast<std::int64_t>(taken.size());
  c.map = gather(c.map, to, [&](std::vector<std::int64_t> index) {
    auto& i = index[static_cast<std::size_t>(axis)];
    i = taken[static_cast<std::size_t>(i)];
    return index;
  });
}

void select_one(Chain& c, const Numbers& n) {
  if (c.rank() == 0) return;
  const int axis = static_cast<int>(below(n[1], c.rank()));
  if (c.map.shape[axis] == 0) return;
  const std::int64_t at = below(n[2], c.map.shape[axis]);
  c.text << "x = select(x, " << axis << ", " << at << ")\n";
  c.view = select(c.view, axis_name(n[3], axis, c.rank()), n[3] & 2 ? at - c.map.shape[axis] : at);
  Shape to = c.map.shape;
  to.erase(axis);
  c.map = gather(c.map, to, [&](std::vector<std::int64_t> index) {
    index.insert(index.begin() + axis, at);
    return index;
  });
}

void permute_or_transpose(Chain& c, const Numbers& n) {
  if (c.rank() == 0) return;
  Shape axes = c.map.shape;
  for (int k = 0; k < c.rank(); ++k) axes[k] = k;
  const int a = static_cast<int>(below(n[1], c.rank()));
  const int b = static_cast<int>(below(n[2], c.rank()));
  if (n[0] & 64) {
    std::swap(axes[a], axes[b]);
    c.text << "x = transpose(x, " << a << ", " << b << ")\n";
    c.view = transpose(c.view, axis_name(n[3], a, c.rank()), axis_name(n[3] >> 1, b, c.rank()));
  } else {
    std::rotate(axes.begin(), axes.begin() + a, axes.end());
    std::swap(axes[0], axes[b]);
    c.text << "x = permute(x, " << axes.str() << ")\n";
    c.view = permute(c.view, axes);
  }
  Shape to = c.map.shape;
  for (int k = 0; k < c.rank(); ++k) to[k] = c.map.shape[static_cast<int>(axes[k])];
  c.map = gather(c.map, to, [&](const std::vector<std::int64_t>& index) {
    std::vector<std::int64_t> source(index.size());
    for (int k = 0; k < axes.rank(); ++k) {
      source[static_cast<std::size_t>(axes[k])] = index[static_cast<std::size_t>(k)];
    }
    return source;
  });
}

void expand_ones(Chain& c, const Numbers& n) {
  const Shape from = c.map.shape;
  Shape to = from;
  for (int k = 0; k < to.rank(); ++k) {
    if (to[k] == 1) to[k] = below(n[1] >> (2 * k), 4);
  }
  if (to.rank() < 6 && n[2] & 1) to.insert(0, 1 + below(n[2] >> 1, 3));
  if (element_count(to) > most_elements) return;
  c.text << "x = expand(x, " << to.str() << ")\n";
  c.view = expand(c.view, to);
  const int shift = to.rank() - from.rank();
  c.map = gather(c.map, to, [&](std::vector<std::int64_t> index) {
    index.erase(index.begin(), index.begin() + shift);
    for (int k = 0; k < from.rank(); ++k) {
      if (from[k] == 1) index[static_cast<std::size_t>(k)] = 0;
    }
    return index;
  });
}

// A random shape of as many elements: prime factors dealt to axes. Copies where strides cannot express it.
void reshape_randomly(Chain& c, const Numbers& n) {
  std::int64_t rest = element_count(c.map.shape);
  Shape to = Shape::filled(static_cast<int>(1 + below(n[1], 4)), 1);
  if (rest == 0) to[0] = 0;
  std::uint32_t number = n[2];
  for (std::int64_t p = 2; rest > 1; ++p) {
    for (; rest % p == 0; rest /= p, number = number * 5 + 1)
      to[static_cast<int>(below(number >> 3, to.rank()))] *= p;
  }
  c.text << "x = reshape(x, " << to.str() << ")\n";
  c.view = reshape(c.view, to);
  c.map.shape = to;
}

void flatten_all(Chain& c) {
  c.text << "x = flatten(x)\n";
  c.view = flatten(c.view);
  c.map.shape = {element_count(c.map.shape)};
}

void squeeze_or_unsqueeze(Chain& c, const Numbers& n) {
  const int axis = static_cast<int>(below(n[1], c.rank() + 1));
  if (axis < c.rank() && c.map.shape[axis] == 1) {
    c.text << "x = squeeze(x, " << axis << ")\n";
    c.view = squeeze(c.view, axis_name(n[3], axis, c.rank()));
    c.map.shape.erase(axis);
  } else if (c.rank() < 6) {
    c.text << "x = unsqueeze(x, " << axis << ")\n";
    c.view = unsqueeze(c.view, axis_name(n[3], axis, c.rank() + 1));
    c.map.shape.insert(axis, 1);
  }
}

void flip_axes(Chain& c, const Numbers& n) {
  Shape axes;
  for (int k = 0; k < c.rank(); ++k) {
    if (n[1] >> k & 1) axes.push_back(axis_name(n[2] >> k, k, c.rank()));
  }
  c.text << "x = flip(x, " << axes.str() << ")\n";
  c.view = flip(c.view, axes);
  const Shape shape = c.map.shape;
  c.map = gather(c.map, shape, [&](std::vector<std::int64_t> index) {
    for (int k = 0; k < shape.rank(); ++k) {
      auto& i = index[static_cast<std::size_t>(k)];
      if (n[1] >> k & 1) i = shape[k] - 1 - i;
    }
    return index;
  });
}

void take(Chain& c, const Numbers& n) {
  switch (n[0] % 8) {
    case 0:
      return slice_or_narrow(c, n);
    case 1:
      return select_one(c, n);
    case 2:
      return permute_or_transpose(c, n);
    case 3:
      return expand_ones(c, n);
    case 4:
      return reshape_randomly(c, n);
    case 5:
      return flatten_all(c);
    case 6:
      return squeeze_or_unsqueeze(c, n);
    default:
      return flip_axes(c, n);
  }
}

std::string value_fault(const Chain& c, const std::vector<double>& leaf) {
  if (!(c.view.shape() == c.map.shape))
    return "shape is " + c.view.shape().str() + ", not " + c.map.shape.str();
  const auto values = c.view.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(c.map.places[i]);
    if (values[i] != leaf[at])
      return "element " + std::to_string(i) + " is not element " + std::to_string(at);
  }
  return "";
}

// The cotangent of every element is added to the place it came from.
std::string gradient_fault(const Chain& c) {
  if (c.view.is_leaf()) return "";
  Generator generator(6);
  const Tensor cotangent = randn(c.view.shape(), generator, DType::f64);
  const auto u = cotangent.to_vector<double>();
  std::vector<double> wanted(static_cast<std::size_t>(c.leaf.numel()), 0.0);
  for (std::size_t i = 0; i < u.size(); ++i) wanted[static_cast<std::size_t>(c.map.places[i])] += u[i];
  const auto gradient = grad(c.view, c.leaf, {.grad_outputs = {cotangent}}).to_vector<double>();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // Sums of at most 400 normal numbers in another order.
    if (!(std::abs(gradient[i] - wanted[i]) <= 1e-12)) {
      return "gradient of element " + std::to_string(i) + " is " + std::to_string(gradient[i]) + ", not " +
             std::to_string(wanted[i]);
    }
  }
  return "";
}

fuzz::Outcome try_chain(const fuzz::Program& program) {
  Chain chain;
  const auto leaf = chain.leaf.to_vector<double>();
  std::string failure;
  for (const fuzz::Step& step : program) {
    try {
      take(chain, step.numbers);
      failure = value_fault(chain, leaf);
    } catch (const Error& e) {
      failure = e.what();
    }
    if (!failure.empty()) return {chain.text.str(), failure};
  }
  return {chain.text.str(), gradient_fault(chain)};
}

}  // namespace

TEST_CASE("chains of view operations agree with maps of indices, gradients too", "[fuzz]") {
  fuzz::run(40000, 9, try_chain);
}
