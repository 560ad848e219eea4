// The names of NumPy and PyTorch in docs/idioms.md: every piece of code of that table stands here and gives
// what the name on its left gives there. The last test holds the page to this file.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include <heed/heed.h>

// The code of the page as it stands, where names repeat.
#pragma GCC diagnostic ignored "-Wshadow"
// NOLINTBEGIN(performance-unnecessary-copy-initialization)

using namespace heed;

namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Booleans = std::vector<bool>;

const Tensor x = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}});
const Tensor y = tensor({{1.0f, 0.0f}, {0.0f, 2.0f}});

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

}  // namespace

TEST_CASE("names that users guess: making and reading", "[idioms][fault-40]") {
  const std::vector<float> values = {1, 2, 3, 4};
  CHECK(tensor(values).shape() == Shape{4});
  CHECK(floats(tensor(values, {2, 2})) == floats(x));
  CHECK(floats(full_like(x, 2)) == Floats{2, 2, 2, 2});
  CHECK(x.shape() == Shape{2, 2});
  CHECK(x.size(0) == 2);
  CHECK(x.rank() == 2);
  CHECK(x.numel() == 4);
  CHECK(to_string(x) == "f32[2, 2] [[1, 2], [3, 4]]");
  CHECK(x.to_vector<float>() == values);
  Generator g(1);
  CHECK(randn({2, 2}, g).shape() == Shape{2, 2});
  const Tensor p = tensor({0.0, 3.0});
  CHECK(multinomial(p, 1, g).item<std::int64_t>() == 1);
  CHECK(dropout(x, 0.1, g).shape() == x.shape());
  CHECK(cast(x, DType::f64).to_vector<double>() == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("names that users guess: shapes and choice", "[idioms][fault-40]") {
  CHECK(reshape(x, {4, -1}).shape() == Shape{4, 1});
  CHECK(flatten(x).shape() == Shape{4});
  CHECK(floats(transpose(x)) == Floats{1, 3, 2, 4});
  CHECK(floats(transpose(x, 0, 1)) == Floats{1, 3, 2, 4});
  CHECK(floats(permute(x, {1, 0})) == Floats{1, 3, 2, 4});
  CHECK(floats(concat({x, x}, 1)) == Floats{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(stack({x, x}, 0).shape() == Shape{2, 2, 2});
  CHECK(floats(split(x, 1, 0)[1]) == Floats{3, 4});
  CHECK(unsqueeze(x, 1).shape() == Shape{2, 1, 2});
  CHECK(floats(select(x, 0, 1)) == Floats{3, 4});
  CHECK(floats(slice(x, 1, 0, 1)) == Floats{1, 3});
  CHECK(floats(flip(x, {0})) == Floats{3, 4, 1, 2});
  Tensor indices = tensor(Integers{1, 0});
  CHECK(floats(index_select(x, 0, indices)) == Floats{3, 4, 1, 2});
  indices = tensor(std::vector<Integers>{{1}, {0}});
  CHECK(floats(gather(x, 1, indices)) == Floats{2, 3});
  CHECK(expand(x, {3, 2, 2}).shape() == Shape{3, 2, 2});
  CHECK(floats(repeat(x, {2, 1})) == Floats{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(floats(where(gt(x, 2), x, 0)) == Floats{0, 0, 3, 4});
  CHECK(floats(masked_fill(x, gt(x, 2), 0)) == Floats{1, 2, 0, 0});
  CHECK(floats(pad(x, {0, 1}, {0, 2})) == Floats{0, 1, 2, 0, 0, 0, 3, 4, 0, 0});
  Generator g(1);
  const Tensor order = randperm(x.size(0), g);
  CHECK(index_select(x, 0, narrow(order, 0, 0, 1)).shape() == Shape{1, 2});
}

TEST_CASE("names that users guess: comparing, reducing, products", "[idioms][fault-40]") {
  const Tensor m = eq(x, y);
  CHECK(m.to_vector<bool>() == Booleans{true, false, false, false});
  const Tensor n = lt(x, y);
  CHECK(n.to_vector<bool>() == Booleans{false, false, false, false});
  CHECK(logical_not(m).to_vector<bool>() == Booleans{false, true, true, true});
  CHECK(logical_and(m, n).to_vector<bool>() == Booleans{false, false, false, false});
  CHECK_FALSE(allclose(x, y, {.rtol = 1e-4}));
  CHECK(any(m).item<bool>());
  CHECK(all(m, {1}).to_vector<bool>() == Booleans{false, false});
  CHECK(amax(x).item<float>() == 4);
  CHECK(floats(max(x, 1).values) == Floats{2, 4});
  CHECK(argmax(x, 1).to_vector<std::int64_t>() == Integers{1, 1});
  CHECK(topk(x, 1).indices.to_vector<std::int64_t>() == Integers{1, 1});
  CHECK(floats(sort(x, 1).values) == floats(x));
  CHECK(standard_deviation(x, {1}).shape() == Shape{2});
  CHECK(variance(x).item<float>() == Approx(5.0 / 3));
  CHECK(vector_norm(x).item<float>() == Approx(std::sqrt(30.0)));
  CHECK(floats(matmul(x, y)) == Floats{1, 4, 3, 8});
  Generator g(1);
  const Tensor q = randn({1, 3, 2}, g);
  const Tensor k = randn({1, 4, 2}, g);
  CHECK(einsum("bik,bjk->bij", {q, k}).shape() == Shape{1, 3, 4});
  CHECK(floats(sum(softmax(x, -1), {-1}))[0] == Approx(1));
  const Tensor v = k;
  CHECK(attention(q, k, v).output.shape() == Shape{1, 3, 2});
}

TEST_CASE("names that users guess: gradients", "[idioms][fault-40]") {
  Tensor w = clone(x);
  {
    Tensor x = w;
    x.set_requires_grad();
    Tensor loss = sum(square(x));
    CHECK(floats(grad(loss, x)) == Floats{2, 4, 6, 8});
    loss = sum(square(x));
    backward(loss);
    CHECK(floats(x.grad()) == Floats{2, 4, 6, 8});
    CHECK_FALSE(x.detach().requires_grad());
    const NoGrad guard;
    CHECK_FALSE(square(x).requires_grad());
  }
  Tensor y = w;
  y *= 2;
  CHECK(floats(y) == Floats{2, 4, 6, 8});
  CHECK(floats(w) == floats(x));
  const auto f = [](const Tensor& t) { return square(t); };
  CHECK(jacobian(f, x)[0][0].shape() == Shape{2, 2, 2, 2});
  CHECK(floats(checkpoint(f, x)) == Floats{1, 4, 9, 16});
  const auto passes = [&](const Tensor& x) { return check::gradcheck(f, x).passed; };
  CHECK(passes(cast(x, DType::f64).set_requires_grad()));
}

TEST_CASE("names that users guess: modules, files, training", "[idioms][fault-40][fault-47]") {
  Generator g(1);
  nn::Linear model = nn::Linear({2, 3}, g);
  CHECK(model(x).shape() == Shape{2, 3});
  CHECK(nn::Embedding({10, 2}, g)(tensor({3, 4})).shape() == Shape{2, 2});
  CHECK(nn::LayerNorm({{2}})(x).shape() == x.shape());
  const auto heads = nn::MultiHeadAttention({.embed_dim = 8, .num_heads = 2}, g);
  CHECK(heads(randn({1, 3, 8}, g)).shape() == Shape{1, 3, 8});
  CHECK(model.named_parameters().size() == 2);

  const std::string path = std::filesystem::temp_directory_path() / "heed_idioms_test";
  io::save_safetensors(path, model.state_dict());
  nn::Linear copy = nn::clone(model);
  model.weight.detach().fill_(0);
  model.load_state_dict(io::load_safetensors(path));
  CHECK(floats(copy.weight) == floats(model.weight));
  io::save_npy(path, x);
  CHECK(floats(io::load_npy(path)) == floats(x));
  std::filesystem::remove(path);

  optim::AdamW rule(model.named_parameters(), {.lr = 1e-3});
  const auto schedule = optim::warmup_cosine({.lr = 1e-3});
  model.weight.set_requires_grad(false);
  for (std::int64_t step = 0; step < 3; ++step) {
    rule.set_lr(schedule(step));
    rule.zero_grad();
    backward(sum(model(x)));
    optim::clip_grad_norm(model.named_parameters(), 1.0);
    rule.step();
  }
  CHECK(floats(copy.weight) == floats(model.weight));
  CHECK(floats(copy.bias) != floats(model.bias));
  model.to(DType::f64);
  CHECK(model.weight.dtype() == DType::f64);
}

TEST_CASE("the table of names on the page of idioms is what this file runs", "[idioms][fault-40]") {
  const auto text_of = [](const char* path) {
    std::ostringstream text;
    text << std::ifstream(std::string(HEED_SOURCE_DIR) + path).rdbuf();
    return text.str();
  };
  const std::string page = text_of("/docs/idioms.md");
  const std::string here = text_of("/tests/nn/idioms_test.cpp");
  int pieces = 0;
  for (std::size_t at = page.find('`', page.find("| there | here |")); at != std::string::npos;) {
    const std::size_t end = page.find('`', at + 1);
    const std::string code = page.substr(at + 1, end - at - 1);
    at = page.find('`', end + 1);
    if (code.find('(') == std::string::npos) continue;  // a name that the lint test looks for
    ++pieces;
    CAPTURE(code);
    CHECK(here.find(code) != std::string::npos);
  }
  CHECK(pieces > 80);
}

// NOLINTEND(performance-unnecessary-copy-initialization)
