#include <vector>

#include <heed/check/gradcheck.h>
#include <heed/core/backward.h>
#include <heed/core/grad_mode.h>
#include <heed/core/random.h>

namespace heed::check {

GradcheckResult gradgradcheck(const Function& function, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options) {
  // g(x, u) = vjp of f at x with cotangents u: checked in x (second order) and in u (f is recorded right in
  // its vjp).
  std::vector<Tensor> extended = inputs;
  Generator generator(options.seed + 1);
  std::vector<bool> used;
  {
    const GradMode mode(true);
    for (const Tensor& y : function(leaves_of("gradgradcheck", inputs))) {
      used.push_back(y.requires_grad());
      if (used.back()) extended.push_back(randn(y.shape(), generator, y.dtype()).set_requires_grad());
    }
  }
  const std::size_t n = inputs.size();
  const Function gradient = [&](const std::vector<Tensor>& all) {
    const GradMode mode(true);
    std::vector<Tensor> points(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < n; ++i) {
      // The outer difference runs without gradients, where inputs are plain copies: differentiate at leaves
      // then.
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
  };
  GradcheckResult result = gradcheck(gradient, extended, options);
  result.check = "gradgradcheck";
  return result;
}

}  // namespace heed::check
