#include <limits>

#include <heed/core/factory.h>
#include <heed/ops/cross_entropy.h>
#include <heed/ops/losses.h>

#include "row_cases.h"

namespace heed::test {
namespace {

using Tensors = std::vector<Tensor>;
using Lines = std::vector<Line>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Losses of elements: `f` of the operands' elements.
RowCase of_elements(const char* op, const char* name, Second second,
                    std::function<Tensor(const Tensor&, const Tensor&)> function,
                    Terms (*f)(const Terms&, const Terms&)) {
  return {op, name, second, [=](const Tensors& in) { return function(in[0], in[1]); },
          [=](const Lines& in) {
            Line y;
            for (std::size_t i = 0; i < in[0].size(); ++i) y.push_back(f(in[0][i], in[1][i]));
            return y;
          }};
}

Terms half_square(const Terms& d) { return quad(0.5) * (d * d); }

Terms huber(const Terms& a, const Terms& b) {
  const Terms d = difference(a, b);
  const Terms size = absolute(d);
  return size.value() <= quad(0.75) ? half_square(d) : quad(0.75) * (size - number(quad(0.375)));
}
Terms smooth_l1(const Terms& a, const Terms& b, double beta) {
  const Terms d = difference(a, b);
  const Terms size = absolute(d);
  return size.value() < quad(beta) ? 1 / quad(beta) * half_square(d) : size - number(quad(beta / 2));
}
Terms binary(const Terms& x, const Terms& t, double positive) {
  return difference(number(1), t) * softplus(x) + quad(positive) * (t * softplus(quad(-1) * x));
}
Terms divergence(const Terms& input, const Terms& t) {
  return t.value() == 0 ? number(0) : t * (log(t) - input);
}
Terms log_divergence(const Terms& input, const Terms& t) { return exp(t) * difference(t, input); }

// The same class in every row: which of them has the largest logit differs.
constexpr std::int64_t class_of_row = 1;
Tensor classes(const Tensor& x) { return full({x.size(0)}, class_of_row, DType::i64); }

double class_weight(std::size_t c) { return 0.5 + 0.25 * static_cast<double>(c % 5); }
Tensor class_weights(const Tensor& x) {
  std::vector<double> w;
  for (std::int64_t c = 0; c < x.size(1); ++c) w.push_back(class_weight(static_cast<std::size_t>(c)));
  return x.dtype() == DType::f64 ? from_span<double>(w, {x.size(1)})
                                 : from_span<float>(std::vector<float>(w.begin(), w.end()), {x.size(1)});
}

RowCase cross_entropy_case(const char* name, double smoothing, bool weighted) {
  return {"cross_entropy", name, Second::none,
          [=](const Tensors& in) {
            return cross_entropy(in[0], classes(in[0]),
                                 {.weight = weighted ? class_weights(in[0]) : Tensor(),
                                  .label_smoothing = smoothing,
                                  .reduction = Reduction::none});
          },
          [=](const Lines& in) {
            const auto n = in[0].size();
            const Line shares = minus_log_shares(in[0]);
            Terms y;
            for (std::size_t c = 0; c < n; ++c) {
              const Quad w = quad(weighted ? class_weight(c) : 1.0);
              Quad a = quad(smoothing) / static_cast<Quad>(n) * w;
              if (c == class_of_row) a += (1 - quad(smoothing)) * w;
              if (a != 0) y = y + a * shares[c];
            }
            return Line{y};
          }};
}

std::vector<RowCase> element_losses() {
  const auto none = Reduction::none;
  return {
      of_elements(
          "mse_loss", "", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return mse_loss(a, b, none); },
          [](const Terms& a, const Terms& b) {
            const Terms d = difference(a, b);
            return d * d;
          }),
      of_elements(
          "l1_loss", "", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return l1_loss(a, b, none); },
          [](const Terms& a, const Terms& b) { return absolute(difference(a, b)); }),
      of_elements(
          "huber_loss", "", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return huber_loss(a, b, 0.75, none); }, huber),
      of_elements(
          "huber_loss", "delta infinite", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return huber_loss(a, b, infinity, none); },
          [](const Terms& a, const Terms& b) { return half_square(difference(a, b)); }),
      of_elements(
          "smooth_l1_loss", "", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b, 0.75, none); },
          [](const Terms& a, const Terms& b) { return smooth_l1(a, b, 0.75); }),
      of_elements(
          "smooth_l1_loss", "small beta", Second::like_first,
          [=](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b, 0x1p-80, none); },
          [](const Terms& a, const Terms& b) { return smooth_l1(a, b, 0x1p-80); }),
      of_elements(
          "binary_cross_entropy_with_logits", "", Second::share,
          [=](const Tensor& x, const Tensor& t) {
            return binary_cross_entropy_with_logits(x, t, {}, {}, none);
          },
          [](const Terms& x, const Terms& t) { return binary(x, t, 1); }),
      of_elements(
          "binary_cross_entropy_with_logits", "zeros and ones, positive weight", Second::zero_or_one,
          [=](const Tensor& x, const Tensor& t) {
            return binary_cross_entropy_with_logits(x, t, full({x.size(1)}, 3, x.dtype()), {}, none);
          },
          [](const Terms& x, const Terms& t) { return binary(x, t, 3); }),
      of_elements(
          "kl_div", "", Second::distribution,
          [=](const Tensor& x, const Tensor& t) { return kl_div(x, t, none); }, divergence),
      of_elements(
          "kl_div", "log target", Second::log_distribution,
          [=](const Tensor& x, const Tensor& t) { return kl_div(x, t, none, true); }, log_divergence),
  };
}

std::vector<RowCase> class_losses() {
  return {
      cross_entropy_case("", 0, false),
      cross_entropy_case("smoothed, weights", 0.125, true),
      {"cross_entropy", "probabilities", Second::distribution,
       [](const Tensors& in) { return cross_entropy(in[0], in[1], {.reduction = Reduction::none}); },
       [](const Lines& in) {
         const Line shares = minus_log_shares(in[0]);
         Terms y;
         for (std::size_t c = 0; c < in[0].size(); ++c)
           if (in[1][c].value() != 0) y = y + in[1][c] * shares[c];
         return Line{y};
       }},
      {"nll_loss", "weights", Second::none,
       [](const Tensors& in) {
         return nll_loss(in[0], classes(in[0]),
                         {.weight = class_weights(in[0]), .reduction = Reduction::none});
       },
       [](const Lines& in) { return Line{-quad(class_weight(class_of_row)) * in[0][class_of_row]}; }},
  };
}

}  // namespace

std::vector<RowCase> loss_cases() {
  std::vector<RowCase> all = element_losses();
  for (const RowCase& c : class_losses()) all.push_back(c);
  return all;
}

}  // namespace heed::test
