#pragma once

#include <vector>

#include <catch2/catch.hpp>

#include "op_case.h"

// What the rows of the generic suite (tests/ops/generic_*_test.cpp) are made of.
namespace heed::test {

using Tensors = std::vector<Tensor>;

/// The cases of the suite; with HEED_OP=name in the environment those of that operation alone.
std::vector<const OpCase*> selected_cases();

/// Counts one check of one case; at the end of the program the number of all is printed.
void count_check(const OpCase& c);

template <class Filter, class Body>
void for_each_case_that(Filter&& filter, Body&& body) {
  for (const OpCase* c : selected_cases()) {
    if (!filter(*c)) continue;
    DYNAMIC_SECTION(c->op << ": " << c->name) {
      count_check(*c);
      body(*c);
    }
  }
}

template <class Body>
void for_each_case(Body&& body) {
  for_each_case_that([](const OpCase&) { return true; }, body);
}

template <class Body>
void for_each_differentiable_case(Body&& body) {
  for_each_case_that([](const OpCase& c) { return c.differentiable; }, body);
}

/// Same shape, and |got − wanted| <= tolerance (1 + |wanted|) everywhere; NaN and infinities in
/// the same places.
void require_close(const Array& got, const Array& wanted, double tolerance);
/// The same of each gradient; undefined ones in the same places.
void require_same_gradients(const Tensors& got, const Tensors& wanted, double tolerance);

/// The tensors that require grad.
Tensors wanted_of(const Tensors& inputs);

/// Random normal, one an output with history; the same bits for the same shapes.
Tensors cotangents_for(const Tensors& outputs);

/// Gradients by these cotangents; undefined where there is no path.
Tensors gradients_of(const Tensors& outputs, const Tensors& wanted, const Tensors& cotangents,
                     bool retain = false, bool record = false);
Tensors gradients_of(const Tensors& outputs, const Tensors& wanted, bool retain = false);

/// The same elements in a buffer with gaps: every stride doubled, first element not at the start.
Tensor spread(const Tensor& x);
/// The same elements stored backwards, last axis first: every stride negative.
Tensor backwards(const Tensor& x);
/// Element 0 along the first axis, repeated with stride 0.
Tensor repeated(const Tensor& x);
/// A row-major copy.
Tensor dense(const Tensor& x);

template <class Map>
Tensors map_all(const Tensors& tensors, Map&& map) {
  Tensors result;
  for (const Tensor& x : tensors) result.push_back(x.defined() ? map(x) : x);
  return result;
}

}  // namespace heed::test
