#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <heed/core/tensor.h>

namespace heed::test {

__extension__ using Wide = __int128;

/// The ends of 64 and 32 bits, powers of two, the neighbours of 0, and the neighbours of each.
const std::vector<std::int64_t>& end_numbers();

/// What a call gave, as text: the shape and, of up to 16 elements, their values; several tensors in a row.
std::string text_of(const Tensor& x);
std::string text_of(const std::vector<Tensor>& x);

/// One integer argument, or several, of a public function. `call` is tried at every number, or at all tuples
/// of numbers for several; where `wanted` gives a text the call gives it, and elsewhere it throws an error of
/// heed's. Larger results than the test's memory are errors as well.
struct IntegerRow {
  std::string name;
  int arguments = 1;
  std::function<std::string(const std::vector<std::int64_t>&)> call;
  std::function<std::optional<std::string>(const std::vector<std::int64_t>&)> wanted;
};

/// A row of one argument.
IntegerRow row(std::string name, std::function<std::string(std::int64_t)> call,
               std::function<std::optional<std::string>(std::int64_t)> wanted);

/// Fails the test where a row does not hold.
void require_row(const IntegerRow& row);

/// Of a result of `bytes`, whether the test's memory has room for it.
inline bool fits(Wide bytes) { return bytes >= 0 && bytes <= Wide{1} << 30; }

}  // namespace heed::test
