// Cases in which every tensor of the options is an operand, so that the generic suite overwrites it, strides
// it and differentiates it.
#include <cmath>

#include <catch2/catch.hpp>

#include <heed/core/backward.h>
#include <heed/core/factory.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/attention/form/scaled_dot_product_attention.h>
#include <heed/ops/sum.h>

#include "../../support/attention_reference.h"

using namespace heed;
using namespace heed::test;

namespace {

using Mask = AttentionMask;
using Options = std::function<AttentionOptions(const std::vector<Tensor>& more)>;
using ReferenceOptions = std::function<AttentionReference(const std::vector<Array>& more)>;

template <class T>
std::vector<T> from_third(const std::vector<T>& x) {
  return {x.begin() + 3, x.end()};
}

// Attention of one sample, two heads and four positions; `more` are the operands behind q, k and v.
OpCase attention_case(std::string name, std::vector<Input> more, Options options,
                      ReferenceOptions reference) {
  std::vector<Input> inputs{{{1, 2, 4, 3}}, {{1, 2, 4, 3}}, {{1, 2, 4, 2}}};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return {
      "attention", std::move(name), std::move(inputs),
      [options = std::move(options)](const std::vector<Tensor>& x) {
        const AttentionResult y = attention(x[0], x[1], x[2], options(from_third(x)));
        return y.weights.defined() ? std::vector<Tensor>{y.output, y.weights} : std::vector<Tensor>{y.output};
      },
      [reference = std::move(reference)](const std::vector<Array>& in) {
        return attention_reference(in[0], in[1], in[2], reference(from_third(in)));
      }};
}

Input integers(std::vector<double> values) {
  return {{static_cast<std::int64_t>(values.size())}, 0, 0, std::move(values), DType::i64};
}
Input booleans(Shape shape, std::vector<double> values) {
  return {std::move(shape), 0, 0, std::move(values), DType::boolean};
}

bool at(const Array& mask, std::int64_t i, std::int64_t j) {
  return mask.values[static_cast<std::size_t>(i * 4 + j)] != 0;
}
std::int64_t number(const Array& x, std::int64_t i) {
  return static_cast<std::int64_t>(x.values[static_cast<std::size_t>(i)]);
}

AttentionReference same_document(const std::vector<Array>& more) {
  AttentionReference r;
  r.open = [ids = more[0]](auto i, auto j) { return number(ids, i) == number(ids, j); };
  return r;
}

const Input checkered = booleans({4, 4}, {1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0});
const Input closed_last = booleans({4}, {1, 1, 1, 0});
const Input closes_diagonal = booleans({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});

const Registration registration(
    {attention_case(
         "key lengths", {integers({3})},
         [](const auto& more) { return AttentionOptions{.mask = Mask::key_lengths(more[0])}; },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           r.open = [n = number(more[0], 0)](auto, auto j) { return j < n; };
           return r;
         }),
     attention_case(
         "key lengths and first positions, causal, with weights", {integers({3}), integers({1})},
         [](const auto& more) {
           return AttentionOptions{.mask = (Mask::key_lengths(more[0]) & Mask::causal()).query_start(more[1]),
                                   .need_weights = true};
         },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           r.open = [n = number(more[0], 0), first = number(more[1], 0)](auto i, auto j) {
             return j < n && j <= first + i;
           };
           return r;
         }),
     attention_case(
         "documents", {integers({7, 7, 2, 2})},
         [](const auto& more) { return AttentionOptions{.mask = Mask::documents(more[0])}; }, same_document),
     attention_case(
         "documents that come back", {integers({7, 2, 7, 7})},
         [](const auto& more) { return AttentionOptions{.mask = Mask::documents(more[0])}; }, same_document),
     attention_case(
         "three joined masks", {checkered, closed_last, closes_diagonal},
         [](const auto& more) {
           return AttentionOptions{.mask =
                                       Mask::attend(more[0]) & Mask::attend(more[1]) & Mask::ignore(more[2])};
         },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           r.open = [more](auto i, auto j) {
             return at(more[0], i, j) && at(more[1], 0, j) && !at(more[2], i, j);
           };
           return r;
         }),
     attention_case(
         "two biases and two times slopes, from first positions",
         {{{4, 4}}, {{2, 1, 4}}, {{2}, 0.1, 0.5}, {{2}, 0.1, 0.5}, integers({1})},
         [](const auto& more) {
           return AttentionOptions{.mask = (Mask::bias(more[0]) & Mask::bias(more[1]) & Mask::alibi(more[2]) &
                                            Mask::alibi(more[3]))
                                               .query_start(more[4])};
         },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           r.bias = [more](auto h, auto i, auto j) {
             const auto of_head = static_cast<std::size_t>(h);
             const double slope = more[2].values[of_head] + more[3].values[of_head];
             const auto distance = static_cast<double>(std::abs(number(more[4], 0) + i - j));
             return more[0].values[static_cast<std::size_t>(i * 4 + j)] +
                    more[1].values[static_cast<std::size_t>(h * 4 + j)] - slope * distance;
           };
           return r;
         }),
     attention_case(
         "sink and learned scale", {{{2}}, {{1}, 0.5, 1}},
         [](const auto& more) { return AttentionOptions{.learned_scale = more[1], .sink = more[0]}; },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           static std::vector<double> sink;  // the reference points to it
           sink = more[0].values;
           r.sink = &sink;
           r.scale = more[1].values[0];
           return r;
         }),
     attention_case(
         "learned softcap and key lengths", {{{}, 1, 2}, integers({3})},
         [](const auto& more) {
           return AttentionOptions{.mask = Mask::key_lengths(more[1]), .learned_softcap = more[0]};
         },
         [](const std::vector<Array>& more) {
           AttentionReference r;
           r.softcap = more[0].values[0];
           r.open = [n = number(more[1], 0)](auto, auto j) { return j < n; };
           return r;
         }),
     {"attention",
      "keep mask of dropout",
      {{{1, 2, 4, 3}}, {{1, 2, 4, 3}}, {{1, 2, 4, 2}}, checkered},
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{
            attention(x[0], x[1], x[2], {.dropout_keep = x[3], .dropout = 0.25}).output};
      },
      [](const std::vector<Array>& in) {
        AttentionReference r;
        r.weights = true;
        const Array w = attention_reference(in[0], in[1], in[2], r);
        Array y{{1, 2, 4, 2}, {}};
        for (std::int64_t row = 0; row < 8; ++row) {
          for (std::int64_t c = 0; c < 2; ++c) {
            double sum = 0;
            for (std::int64_t j = 0; j < 4; ++j) {
              if (!at(in[3], row % 4, j)) continue;
              sum += w.values[static_cast<std::size_t>(row * 4 + j)] / 0.75 *
                     in[2].values[static_cast<std::size_t>((row / 4 * 4 + j) * 2 + c)];
            }
            y.values.push_back(sum);
          }
        }
        return y;
      }},
     {"scaled_dot_product_attention",
      "mask",
      {{{1, 2, 4, 3}}, {{1, 2, 4, 3}}, {{1, 2, 4, 2}}, checkered},
      [](const std::vector<Tensor>& x) {
        const AttentionWeights y = scaled_dot_product_attention(x[0], x[1], x[2], x[3]);
        return std::vector<Tensor>{y.output, y.weights};
      },
      [](const std::vector<Array>& in) {
        AttentionReference r;
        r.open = [mask = in[3]](auto i, auto j) { return at(mask, i, j); };
        return attention_reference(in[0], in[1], in[2], r);
      }}},
    {});

}  // namespace

TEST_CASE("lengths that are overwritten before a recorded backward are an error", "[fault-7]") {
  Tensor q = tensor({0.5, 1.0, 1.5, 2.0}, {1, 1, 2, 2}).set_requires_grad();
  const Tensor k = tensor({1.0, -1.0, 0.5, 2.0, 1.5, 0.25}, {1, 1, 3, 2});
  Tensor lengths = full({1}, 3, DType::i64);
  const Tensor y = sum(attention(q, k, k, {.mask = AttentionMask::key_lengths(lengths)}).output);
  lengths.fill_(1);
  const auto message = Catch::Matchers::Message(
      "attention: a saved tensor was overwritten before backward, key_lengths is [1] at version 2; expected "
      "version 1");
  CHECK_THROWS_MATCHES(grad(y, q, {.retain_graph = true, .create_graph = true}), GradError, message);
  CHECK_THROWS_MATCHES(grad(y, q), GradError, message);
}
