#include <iostream>

#include <heed/heed.h>

int main() {
  heed::Generator generator(1);
  auto query = heed::randn({1, 2, 5, 8}, generator);  // [batch, heads, time, head_dim]
  auto key = heed::randn({1, 2, 5, 8}, generator);
  auto value = heed::randn({1, 2, 5, 8}, generator);
  query.set_requires_grad();

  auto attended = heed::attention(query, key, value, {.mask = heed::AttentionMask::causal()});
  heed::backward(heed::mean(attended.output));

  std::cout << "output " << attended.output << "\ngradient of the query " << query.grad() << "\n";
}
