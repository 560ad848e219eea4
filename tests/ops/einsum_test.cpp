#include <map>
#include <string>

#include <catch2/catch.hpp>

#include <heed/core/factory.h>
#include <heed/ops/einsum.h>

#include "../support/lines.h"

using namespace heed;
using namespace heed::test;

namespace {

// Every assignment of the letters in turn; `sizes` gives the letters, `terms` the operands and the result.
Reference summed(std::vector<std::pair<char, std::int64_t>> sizes, std::vector<std::string> terms) {
  return [=](const std::vector<Array>& in) {
    std::map<char, std::int64_t> index;
    std::int64_t count = 1;
    for (const auto& [letter, size] : sizes) count *= size;
    std::map<char, std::int64_t> size_of_letter(sizes.begin(), sizes.end());
    Array y;
    for (const char c : terms.back()) y.shape.push_back(size_of_letter[c]);
    y.values.assign(static_cast<std::size_t>(element_count(y.shape)), 0.0);
    const auto place = [&](const std::string& term, const Shape& shape) {
      std::int64_t at = 0;
      for (int k = 0; k < shape.rank(); ++k) {
        at = at * shape[k] + (shape[k] == 1 ? 0 : index[term[static_cast<std::size_t>(k)]]);
      }
      return static_cast<std::size_t>(at);
    };
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t rest = n;
      for (const auto& [letter, size] : sizes) {
        index[letter] = rest % size;
        rest /= size;
      }
      double product = 1;
      for (std::size_t i = 0; i < in.size(); ++i) product *= in[i].values[place(terms[i], in[i].shape)];
      y.values[place(terms.back(), y.shape)] += product;
    }
    return y;
  };
}

Function equation(const char* text) {
  return [text](const std::vector<Tensor>& x) { return std::vector<Tensor>{einsum(text, x)}; };
}

const Registration registration(
    {
        {"einsum",
         "matrix product",
         {{{2, 3}}, {{3, 4}}},
         equation("ij,jk->ik"),
         summed({{'i', 2}, {'j', 3}, {'k', 4}}, {"ij", "jk", "ik"})},
        {"einsum",
         "batch of products, spaces, other order",
         {{{2, 3, 4}}, {{5, 4, 2}}},
         equation(" bik , jkb -> jbi "),
         summed({{'b', 2}, {'i', 3}, {'k', 4}, {'j', 5}}, {"bik", "jkb", "jbi"})},
        {"einsum",
         "no arrow",
         {{{2, 3}}, {{2}}},
         equation("ba,b"),
         summed({{'a', 3}, {'b', 2}}, {"ba", "b", "a"})},
        {"einsum",
         "outer product",
         {{{2}}, {{3}}},
         equation("i,j->ij"),
         summed({{'i', 2}, {'j', 3}}, {"i", "j", "ij"})},
        {"einsum", "inner product", {{{4}}, {{4}}}, equation("i,i->"), summed({{'i', 4}}, {"i", "i", ""})},
        {"einsum",
         "three operands",
         {{{2, 3}}, {{3, 2}}, {{2, 4}}},
         equation("ab,bc,ad->cd"),
         summed({{'a', 2}, {'b', 3}, {'c', 2}, {'d', 4}}, {"ab", "bc", "ad", "cd"})},
        {"einsum",
         "a letter only one operand has",
         {{{2, 3, 2}}, {{3}}},
         equation("ijk,j->k"),
         summed({{'i', 2}, {'j', 3}, {'k', 2}}, {"ijk", "j", "k"})},
        {"einsum",
         "diagonal",
         {{{3, 2, 3}}},
         equation("iji->ji"),
         summed({{'i', 3}, {'j', 2}}, {"iji", "ji"})},
        {"einsum", "trace", {{{3, 3}}}, equation("ii"), summed({{'i', 3}}, {"ii", ""})},
        {"einsum",
         "axes that broadcast",
         {{{2, 1, 3}}, {{4, 3}}},
         equation("...k,...k->..."),
         summed({{'x', 2}, {'y', 4}, {'k', 3}}, {"xyk", "yk", "xy"})},
        {"einsum", "transposed", {{{2, 3}}}, equation("ij->ji"), summed({{'i', 2}, {'j', 3}}, {"ij", "ji"})},
    },
    {
        throws<ValueError>(
            "einsum", "operands",
            [] {
              einsum("ij,jk->ik", {zeros({2, 2})});
            },
            "einsum: wrong number of operands, 1 tensors for 'ij,jk->ik'; expected 2 tensors"),
        throws<ShapeError>(
            "einsum", "rank", [] { einsum("ij->i", {zeros({2})}); },
            "einsum: number of axes differs from the equation, operands[0] is [2] and its term is 'ij'; "
            "expected one letter for each axis"),
        throws<ShapeError>(
            "einsum", "sizes",
            [] {
              einsum("i,i->", {zeros({2}), zeros({3})});
            },
            "einsum: sizes of a letter differ, 'i' is 2 and 3; expected sizes equal or 1"),
        throws<ValueError>(
            "einsum", "unknown letter", [] { einsum("i->j", {zeros({2})}); },
            "einsum: bad equation, equation is 'i->j'; expected each letter of the result once, and in an "
            "operand"),
        throws<ValueError>(
            "einsum", "sign",
            [] {
              einsum("i+->i", {zeros({2, 2})});
            },
            "einsum: bad equation, equation is 'i+->i'; expected letters, `,`, `...` and one `->`"),
    });

}  // namespace

TEST_CASE("einsum over an empty axis gives zeros") {
  const Tensor y = einsum("ij,jk->ik", {zeros({2, 0}, DType::f64), zeros({0, 3}, DType::f64)});
  CHECK(y.to_vector<double>() == std::vector<double>(6, 0.0));
}
