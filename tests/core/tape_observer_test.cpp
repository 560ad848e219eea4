#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/tape_observer.h>

#include "local_ops.h"

using namespace heed;
using namespace heed::test;

namespace {

using Notes = std::vector<std::string>;

// Writes down everything that it is told.
class Notebook final : public TapeObserver {
 public:
  explicit Notebook(Notes& notes, const char* kind = nullptr) : TapeObserver(kind), notes_(notes) {}

 private:
  void before_saving() override { notes_.emplace_back("saving"); }
  void on_saved(const Tensor& x) override { notes_.push_back("saved " + std::to_string(x.numel())); }
  void on_recorded(const RecordedOperation& operation) override {
    notes_.push_back(std::string("recorded ") + operation.node.op() + " of " +
                     std::to_string(operation.inputs.size()));
  }
  void on_unrecorded(std::span<const Tensor* const> inputs) override {
    notes_.push_back("unrecorded of " + std::to_string(inputs.size()));
  }
  void on_cotangent(const Node& node, std::size_t output, const Tensor&) override {
    notes_.push_back(std::string("cotangent ") + std::to_string(output) + " of " + node.op());
  }
  void before_vjp(const Node& node) override { notes_.push_back(std::string("before ") + node.op()); }
  void after_vjp(const Node& node) override { notes_.push_back(std::string("after ") + node.op()); }
  void on_gradient(const Node& node, std::size_t input, const Tensor&) override {
    notes_.push_back(std::string("gradient ") + std::to_string(input) + " of " + node.op());
  }

  Notes& notes_;
};

}  // namespace

TEST_CASE("an observer is told of records and walks in their order", "[observer]") {
  const Tensor x = leaf(tensor({1.0, 2.0}));
  Notes notes;
  Tensor y;
  {
    const Notebook notebook(notes);
    y = heed::test::exp(x);
    CHECK(notes == Notes{"saving", "saved 2", "recorded exp of 1"});
    notes.clear();
    {
      const NoGrad guard;
      const Tensor unrecorded = scale(x, 2);
    }
    CHECK(notes == Notes{"unrecorded of 1"});
    notes.clear();
    backward(y, {.cotangent = tensor({1.0, 1.0})});
    CHECK(notes == Notes{"cotangent 0 of exp", "before exp", "unrecorded of 2", "after exp",
                         "gradient 0 of exp", "cotangent 0 of leaf"});
    notes.clear();
  }
  y = heed::test::exp(x);
  CHECK(notes.empty());
}

TEST_CASE("nested observers are all told, but of one kind the innermost alone", "[observer]") {
  const Tensor x = leaf(tensor({1.0, 2.0}));
  Notes plain;
  Notes outer;
  Notes inner;
  Notes other;
  const auto record_one = [&] {
    const Tensor y = scale(x, 2);
    std::vector<std::size_t> counts;
    for (Notes* notes : {&plain, &outer, &inner, &other}) {
      counts.push_back(notes->size());
      notes->clear();
    }
    return counts;
  };
  using Counts = std::vector<std::size_t>;
  const Notebook first(plain);
  auto second = std::make_unique<Notebook>(outer, "kind");
  auto third = std::make_unique<Notebook>(inner, "kind");
  const Notebook fourth(other, "another kind");
  CHECK(record_one() == Counts{2, 0, 2, 2});
  third.reset();  // not the innermost of all
  CHECK(record_one() == Counts{2, 2, 0, 2});
  third = std::make_unique<Notebook>(inner, "kind");
  second.reset();  // hidden when it goes
  CHECK(record_one() == Counts{2, 0, 2, 2});
  third.reset();
  CHECK(record_one() == Counts{2, 0, 0, 2});
}
