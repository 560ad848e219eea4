// The least a program of somebody else's does with heed.
#include <cstdio>

#include <heed/heed.h>

int main() {
  heed::Generator generator(1);
  const heed::Tensor query = heed::randn({1, 2, 5, 8}, generator);
  std::printf("query has %d axes and %lld elements\n", query.rank(), static_cast<long long>(query.numel()));
  return query.numel() == 80 ? 0 : 1;
}
