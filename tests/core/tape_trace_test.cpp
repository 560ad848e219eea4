#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/tape_trace.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

TEST_CASE("a trace sees results and gradients in their order, the innermost one alone", "[trace]") {
  const Tensor x = leaf(tensor({1.0, 2.0}));
  std::vector<std::string> seen;
  std::vector<double> firsts;
  const TapeTrace trace([&](const TapeEvent& event) {
    seen.push_back((event.is_gradient ? "gradient " : "result ") + std::to_string(event.number) + " of " +
                   event.node.op());
    firsts.push_back(event.value.to_vector<double>()[0]);
  });
  const Tensor unseen = scale(zeros({2}, DType::f64), 2);  // not recorded
  const Tensor y = scale(x, 3);
  {
    int inner_events = 0;
    const TapeTrace inner([&](const TapeEvent&) { ++inner_events; });
    const Tensor other = scale(x, 5);
    CHECK(inner_events == 1);
  }
  backward(sum(mul(x, y)));
  const std::vector<std::string> expected = {"result 0 of scale",  "result 0 of mul",   "result 0 of sum",
                                             "gradient 0 of sum",  "gradient 0 of mul", "gradient 1 of mul",
                                             "gradient 0 of scale"};
  CHECK(seen == expected);
  CHECK(firsts == std::vector<double>{3, 3, 15, 1, 3, 1, 3});
}
