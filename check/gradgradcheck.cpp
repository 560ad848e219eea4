#include <vector>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {
namespace {

// The outputs of a function that have history, and a random cotangent u for each of them.
struct Cotangents {
  std::vector<bool> used;  // one flag for each output
  std::vector<Tensor> drawn;
};

Cotangents draw_cotangents(const Function& function, const std::vector<Tensor>& inputs, std::uint64_t seed) {
  Generator generator(seed);
  Cotangents u;
  const GradMode mode(true);
  for (const Tensor& y : function(leaves_of("gradgradcheck", inputs))) {
    u.used.push_back(y.requires_grad());
    if (u.used.back()) u.drawn.push_back(randn(y.shape(), generator, y.dtype()).set_requires_grad());
  }
  return u;
}

// The vector-Jacobian product of `function` as a function of its own: `all` are the inputs x, then
// the cotangents u. The results are the gradients of the inputs that require grad, without those that
// have no path.
std::vector<Tensor> vector_jacobian_product(const Function& function, const std::vector<Tensor>& inputs,
                                            const std::vector<bool>& used, const std::vector<Tensor>& all) {
  const GradMode mode(true);
  const std::size_t n = inputs.size();
  std::vector<Tensor> points(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < n; ++i) {
    // The outer difference quotients pass plain copies without gradients: these become leaves here.
    if (inputs[i].requires_grad() && !points[i].requires_grad()) points[i].set_requires_grad();
    if (inputs[i].requires_grad()) wanted.push_back(points[i]);
  }
  std::vector<Tensor> roots;
  GradOptions grad_options{.create_graph = true, .allow_unused = true};
  const std::vector<Tensor> outputs = function(points);
  std::size_t next = n;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!used[i]) continue;
    roots.push_back(outputs[i]);
    grad_options.grad_outputs.push_back(all[next++]);
  }
  std::vector<Tensor> gradients = heed::grad(roots, wanted, grad_options);
  std::erase_if(gradients, [](const Tensor& g) { return !g.defined(); });
  return gradients;
}

}  // namespace

GradcheckResult gradgradcheck(const Function& function, const TensorList& inputs,
                              const GradcheckOptions& options) {
  // Checked in x, which is the second derivative, and in u, which shows that the vector-Jacobian product
  // itself is recorded correctly.
  const Cotangents u = draw_cotangents(function, inputs, options.seed + 1);
  std::vector<Tensor> extended = inputs;
  extended.insert(extended.end(), u.drawn.begin(), u.drawn.end());
  const Function gradient = [&](const std::vector<Tensor>& all) {
    return vector_jacobian_product(function, inputs, u.used, all);
  };
  GradcheckResult result = gradcheck(gradient, extended, options);
  result.check = "gradgradcheck";
  return result;
}

}  // namespace heed::check
