#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/factory.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/einsum.h>
#include <heed/ops/expand.h>
#include <heed/ops/matmul.h>
#include <heed/ops/reshape.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

namespace heed {
namespace {

// A tensor with a label for each axis: a letter, or a digit for an axis of `...`, counted from the right.
struct Labelled {
  Tensor x;
  std::string labels;
};

struct Plan {
  std::vector<Labelled> operands;
  std::string result;
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

[[noreturn]] void fail_equation(std::string_view equation, std::string_view expected) {
  fail<ValueError>("einsum", "bad equation", fmt::format("equation is '{}'", equation), expected);
}

// Digits for `count` axes of `...`: the last one is 0.
std::string digits(int count) {
  std::string text;
  for (int i = count - 1; i >= 0; --i) text += static_cast<char>('0' + i);
  return text;
}

// Puts digits in place of `...`; what is left must be letters.
std::string spell_out(std::string_view equation, std::string term, int ellipsis) {
  const std::size_t dots = term.find("...");
  if (dots != std::string::npos) term.erase(dots, 3);
  for (const char c : term) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0)
      fail_equation(equation, "letters, `,`, `...` and one `->`");
  }
  return dots == std::string::npos ? term : term.insert(dots, digits(ellipsis));
}

Labelled label(std::string_view equation, const Tensor& x, const std::string& term, std::size_t number) {
  const std::string name = fmt::format("operands[{}]", number);
  check_floating("einsum", name, x);
  const bool dots = term.find("...") != std::string::npos;
  const int letters = static_cast<int>(term.size()) - (dots ? 3 : 0);
  if (dots ? x.rank() < letters : x.rank() != letters) {
    fail<ShapeError>("einsum", "number of axes differs from the equation",
                     fmt::format("{} is {} and its term is '{}'", name, x.shape().str(), term),
                     "one letter for each axis");
  }
  return {x, spell_out(equation, term, x.rank() - letters)};
}

// Result of an equation without `->`: the axes of `...`, then the letters that occur once.
std::string implicit_result(const std::vector<Labelled>& operands) {
  std::string all;
  for (const Labelled& operand : operands) all += operand.labels;
  std::sort(all.begin(), all.end());
  std::string dots;
  std::string letters;
  for (const char c : all) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (!has(dots, c)) dots.insert(dots.begin(), c);
    } else if (std::count(all.begin(), all.end(), c) == 1) {
      letters += c;
    }
  }
  return dots + letters;
}

Plan parse(std::string_view equation, std::span<const Tensor> tensors) {
  std::string text(equation);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != tensors.size()) {
    fail<ValueError>("einsum", "wrong number of operands",
                     fmt::format("{} tensors for '{}'", tensors.size(), equation),
                     fmt::format("{} tensors", terms.size()));
  }
  Plan plan;
  int ellipsis = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    plan.operands.push_back(label(equation, tensors[i], terms[i], i));
    check_same_dtype("einsum", "operands[0]", tensors[0], fmt::format("operands[{}]", i), tensors[i]);
    const std::string& labels = plan.operands.back().labels;
    ellipsis = std::max(ellipsis, static_cast<int>(std::count_if(labels.begin(), labels.end(), [](char c) {
                          return std::isdigit(static_cast<unsigned char>(c)) != 0;
                        })));
  }
  plan.result = arrow == std::string::npos ? implicit_result(plan.operands)
                                           : spell_out(equation, text.substr(arrow + 2), ellipsis);
  for (const char c : plan.result) {
    const bool known = std::any_of(plan.operands.begin(), plan.operands.end(),
                                   [&](const Labelled& operand) { return has(operand.labels, c); });
    if (!known || std::count(plan.result.begin(), plan.result.end(), c) != 1) {
      fail_equation(equation, "each letter of the result once, and in an operand");
    }
  }
  return plan;
}

// Sums over an axis and drops its label.
void sum_out(Labelled& operand, std::size_t axis) {
  operand.x = sum(operand.x, {static_cast<std::int64_t>(axis)});
  operand.labels.erase(axis, 1);
}

// A label that an operand has twice: off the diagonal all is multiplied by 0 and summed.
void take_diagonals(Labelled& operand) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    std::size_t j = operand.labels.find(operand.labels[i], i + 1);
    while (j != std::string::npos) {
      const Shape& shape = operand.x.shape();
      const std::int64_t n = shape[static_cast<int>(i)];
      if (shape[static_cast<int>(j)] != n) {
        fail<ShapeError>("einsum", "a diagonal of axes of different sizes",
                         fmt::format("'{}' in {}", operand.labels[i], shape.str()), "equal sizes");
      }
      Shape on = Shape::filled(shape.rank(), 1);
      on[static_cast<int>(i)] = n;
      on[static_cast<int>(j)] = n;
      operand.x = mul(operand.x, reshape(eye(n, operand.x.dtype()), on));
      sum_out(operand, j);
      j = operand.labels.find(operand.labels[i], i + 1);
    }
  }
}

// Axes in the order of `groups`, those of size 1 expanded to the size in `other`, each group joined to one.
Tensor grouped(const Labelled& operand, const Labelled& other, std::initializer_list<std::string> groups) {
  Shape axes;
  Shape expanded;
  Shape joined;
  for (const std::string& group : groups) {
    joined.push_back(1);
    for (const char c : group) {
      const std::size_t axis = operand.labels.find(c);
      const std::size_t twin = other.labels.find(c);
      std::int64_t size = operand.x.shape()[static_cast<int>(axis)];
      if (size == 1 && twin != std::string::npos) size = other.x.shape()[static_cast<int>(twin)];
      axes.push_back(static_cast<std::int64_t>(axis));
      expanded.push_back(size);
      joined[joined.rank() - 1] *= size;
    }
  }
  const Tensor ordered = permute(operand.x, axes);
  if (!can_expand(ordered.shape(), expanded)) check_expands("einsum", "operand", ordered, expanded);
  return reshape(expand(ordered, expanded), joined);
}

void check_sizes(const Labelled& a, const Labelled& b, char c) {
  const std::int64_t n = a.x.shape()[static_cast<int>(a.labels.find(c))];
  const std::int64_t m = b.x.shape()[static_cast<int>(b.labels.find(c))];
  if (n == m || n == 1 || m == 1) return;
  fail<ShapeError>("einsum", "sizes of a letter differ", fmt::format("'{}' is {} and {}", c, n, m),
                   "sizes equal or 1");
}

// Contracts two operands by one batched product; `needed` are the labels that stay.
Labelled contract(const Labelled& a, const Labelled& b, const std::string& needed) {
  std::string batch;
  std::string inner;
  std::string rows;
  std::string columns;
  for (const char c : a.labels) {
    if (!has(b.labels, c)) {
      rows += c;
    } else {
      check_sizes(a, b, c);
      (has(needed, c) ? batch : inner) += c;
    }
  }
  for (const char c : b.labels) {
    if (!has(a.labels, c)) columns += c;
  }
  Labelled result{matmul(grouped(a, b, {batch, rows, inner}), grouped(b, a, {batch, inner, columns})),
                  batch + rows + columns};
  Shape shape;
  for (const char c : result.labels) {
    std::int64_t size = 1;
    for (const Labelled* operand : {&a, &b}) {
      const std::size_t axis = operand->labels.find(c);
      if (axis != std::string::npos && size == 1) size = operand->x.shape()[static_cast<int>(axis)];
    }
    shape.push_back(size);
  }
  result.x = reshape(result.x, shape);
  return result;
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  Plan plan = parse(equation, operands);
  const auto needed_without = [&](std::size_t from, std::size_t except) {
    std::string needed = plan.result;
    for (std::size_t i = from; i < plan.operands.size(); ++i) {
      if (i != except) needed += plan.operands[i].labels;
    }
    return needed;
  };
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    Labelled& operand = plan.operands[i];
    take_diagonals(operand);
    const std::string needed = needed_without(0, i);
    for (std::size_t axis = operand.labels.size(); axis-- > 0;) {
      if (!has(needed, operand.labels[axis])) sum_out(operand, axis);
    }
  }
  Labelled total = plan.operands[0];
  for (std::size_t i = 1; i < plan.operands.size(); ++i) {
    total = contract(total, plan.operands[i], needed_without(i + 1, plan.operands.size()));
  }
  Shape axes;
  for (const char c : plan.result) axes.push_back(static_cast<std::int64_t>(total.labels.find(c)));
  return permute(total.x, axes);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span(operands.begin(), operands.size()));
}

}  // namespace heed
