#include <heed/core/factory.h>
#include <heed/ops/layer_norm.h>
#include <heed/ops/logsumexp.h>
#include <heed/ops/rms_norm.h>
#include <heed/ops/softmax.h>
#include <heed/ops/variance.h>
#include <heed/ops/vector_norm.h>

#include "row_cases.h"

namespace heed::test {
namespace {

using Tensors = std::vector<Tensor>;
using Lines = std::vector<Line>;

Line map(const Line& x, const std::function<Terms(const Terms&)>& f) {
  Line y;
  for (const Terms& v : x) y.push_back(f(v));
  return y;
}

Terms mean_square(const Line& d) {
  return quad(1) / static_cast<Quad>(d.size()) * total(map(d, [](const Terms& v) { return v * v; }));
}

Line normalized(const Line& d, double epsilon) {
  const Terms r = power(mean_square(d) + number(quad(epsilon)), quad(-0.5));
  return map(d, [&](const Terms& v) { return v * r; });
}

// Numbers that every dtype has.
double weight_of(std::size_t i) { return 0.5 + 0.125 * static_cast<double>(i % 9); }
double bias_of(std::size_t i) { return 0.25 - 0.0625 * static_cast<double>(i % 7); }
Tensor parameter(double (*f)(std::size_t), const Tensor& x) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < x.size(-1); ++i) values.push_back(f(static_cast<std::size_t>(i)));
  return x.dtype() == DType::f64
             ? from_span<double>(values, {x.size(-1)})
             : from_span<float>(std::vector<float>(values.begin(), values.end()), {x.size(-1)});
}

RowCase layer_norm_case(const char* name, double epsilon) {
  return {"layer_norm", name, Second::none,
          [=](const Tensors& in) { return layer_norm(in[0], {in[0].size(-1)}, {}, {}, epsilon); },
          [=](const Lines& in) { return normalized(centered(in[0]), epsilon); }};
}

RowCase rms_norm_case(const char* name, double epsilon) {
  return {"rms_norm", name, Second::none,
          [=](const Tensors& in) { return rms_norm(in[0], {in[0].size(-1)}, {}, epsilon); },
          [=](const Lines& in) { return normalized(in[0], epsilon); }};
}

RowCase vector_norm_case(const char* name, double order) {
  return {"vector_norm",
          name,
          Second::none,
          [=](const Tensors& in) { return vector_norm(in[0], order, {-1}, true); },
          [=](const Lines& in) {
            const auto term = [&](const Terms& v) {
              return order == 2 ? v * v : power(absolute(v), quad(order));
            };
            return Line{power(total(map(in[0], term)), 1 / quad(order))};
          },
          order >= 2};
}

Terms spread_of(const Line& x, double correction) {
  const Terms squares = total(map(centered(x), [](const Terms& v) { return v * v; }));
  return 1 / (static_cast<Quad>(x.size()) - quad(correction)) * squares;
}

}  // namespace

std::vector<RowCase> norm_cases() {
  return {
      layer_norm_case("", 1e-5),
      layer_norm_case("epsilon 0", 0),
      {"layer_norm", "weight and bias", Second::none,
       [](const Tensors& in) {
         return layer_norm(in[0], {in[0].size(-1)}, parameter(weight_of, in[0]), parameter(bias_of, in[0]));
       },
       [](const Lines& in) {
         Line y = normalized(centered(in[0]), 1e-5);
         for (std::size_t i = 0; i < y.size(); ++i)
           y[i] = quad(weight_of(i)) * y[i] + number(quad(bias_of(i)));
         return y;
       }},
      rms_norm_case("", 1e-6),
      rms_norm_case("epsilon 0", 0),
      {"rms_norm", "weight", Second::none,
       [](const Tensors& in) { return rms_norm(in[0], {in[0].size(-1)}, parameter(weight_of, in[0])); },
       [](const Lines& in) {
         Line y = normalized(in[0], 1e-6);
         for (std::size_t i = 0; i < y.size(); ++i) y[i] = quad(weight_of(i)) * y[i];
         return y;
       }},
      {"softmax", "", Second::none, [](const Tensors& in) { return softmax(in[0]); },
       [](const Lines& in) {
         const Line& x = in[0];
         const std::size_t m = largest_of(x);
         const Terms share = reciprocal(number(1) + others(x));
         Line y;
         for (std::size_t i = 0; i < x.size(); ++i)
           y.push_back(i == m ? share : exp(difference(x[i], x[m])) * share);
         return y;
       }},
      {"log_softmax", "", Second::none, [](const Tensors& in) { return log_softmax(in[0]); },
       [](const Lines& in) {
         return map(minus_log_shares(in[0]), [](const Terms& v) { return quad(-1) * v; });
       }},
      {"logsumexp", "", Second::none, [](const Tensors& in) { return logsumexp(in[0], {-1}, true); },
       [](const Lines& in) { return Line{in[0][largest_of(in[0])] + log1p(others(in[0]))}; }},
      vector_norm_case("", 2),
      vector_norm_case("order 3", 3),
      vector_norm_case("order 1.5", 1.5),
      {"variance", "", Second::none, [](const Tensors& in) { return variance(in[0], {-1}, 1, true); },
       [](const Lines& in) { return Line{spread_of(in[0], 1)}; }},
      {"standard_deviation", "biased", Second::none,
       [](const Tensors& in) { return standard_deviation(in[0], {-1}, 0, true); },
       [](const Lines& in) { return Line{square_root(spread_of(in[0], 0))}; }},
  };
}

}  // namespace heed::test
