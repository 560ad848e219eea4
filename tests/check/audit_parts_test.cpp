#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <heed/check/audit.h>
#include <heed/core/checkpoint.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/linear.h>
#include <heed/nn/multi_head_attention.h>
#include <heed/nn/transformer_layers.h>
#include <heed/ops/activation.h>
#include <heed/ops/arithmetic.h>
#include <heed/ops/attention/attention.h>
#include <heed/ops/concat.h>
#include <heed/ops/embedding.h>
#include <heed/ops/linear.h>
#include <heed/ops/power.h>
#include <heed/ops/reshape.h>
#include <heed/ops/slice.h>
#include <heed/ops/sum.h>
#include <heed/ops/transpose.h>

// Parts of parameters, and leaves that no module lists.

using namespace heed;
using check::audit;
using check::AuditFinding;
using check::AuditProblem;
using check::AuditReport;

namespace {

constexpr std::int64_t width = 8;

Tensor sequence() {
  Generator generator(5);
  return randn({2, 6, width}, generator);
}

nn::MultiHeadAttention module(nn::MultiHeadAttentionOptions options = {}) {
  options.embed_dim = width;
  options.num_heads = 2;
  Generator generator(1);
  return {options, generator};
}

// Packed projections of which one part is cut off from the tape: 0 q, 1 k, 2 v.
Tensor attend_without(const nn::MultiHeadAttention& m, const Tensor& x, int part) {
  std::vector<Tensor> heads;
  for (int i = 0; i < 3; ++i) {
    const Tensor weight = narrow(m.qkv.weight, 0, i * width, width);
    const Tensor bias = narrow(m.qkv.bias, 0, i * width, width);
    const Tensor rows = i == part ? linear(x, weight.detach(), bias.detach()) : linear(x, weight, bias);
    heads.push_back(transpose(reshape(rows, {2, 6, 2, width / 2}), 1, 2));
  }
  const Tensor y = attention(heads[0], heads[1], heads[2]).output;
  return m.out(reshape(transpose(y, 1, 2), {2, 6, width}));
}

const AuditFinding* finding_of(const AuditReport& report, AuditProblem problem,
                               const std::string& block = "") {
  for (const AuditFinding& f : report.findings) {
    if (f.problem == problem && f.block == block) return &f;
  }
  return nullptr;
}

Tensor loss_of(const Tensor& y) { return sum(square(y)); }

// Lists one of its two layers.
class Forgetful final : public nn::Module {
 public:
  explicit Forgetful(Generator& generator)
      : Module("Forgetful"),
        listed({.in = width, .out = width}, generator),
        forgotten({.in = width, .out = 3, .bias = false}, generator) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope = enter();
    return forgotten(tanh(listed(x)));
  }
  nn::Linear listed, forgotten;

 protected:
  HEED_MEMBERS(listed)
};

// Names the parts of its own weight.
class Gated final : public nn::Module {
 public:
  explicit Gated(std::int64_t gate_size) : Module("Gated"), gate_size_(gate_size) {
    Generator generator(1);
    weight = randn({2 * width, width}, generator).set_requires_grad();
  }
  Tensor weight;

 protected:
  void visit(nn::MemberVisitor& visitor) override {
    visitor.member("weight", weight);
    visitor.blocks(weight, 0, {{"value", width}, {"gate", gate_size_}});
  }

 private:
  std::int64_t gate_size_;
};

}  // namespace

TEST_CASE("audit finds the third of a packed weight that hears nothing", "[fault-5]") {
  const nn::MultiHeadAttention m = module();
  const char* const names[] = {"q", "k", "v"};
  for (int part = 0; part < 3; ++part) {
    const AuditReport report = audit(loss_of(attend_without(m, sequence(), part)), m);
    INFO(report.report());
    CHECK_FALSE(report.passed);
    const AuditFinding* const found = finding_of(report, AuditProblem::zero_gradient, names[part]);
    REQUIRE(found != nullptr);
    CHECK(found->parameter == "qkv.weight");
    // The bias of q and of v is one more; heads of a silent part are not named again.
    CHECK(report.findings.size() == (part == 1 ? 1 : 2));
  }
  const AuditReport whole = audit(loss_of(attend_without(m, sequence(), -1)), m);
  INFO(whole.report());
  CHECK(whole.passed);
  CHECK(whole.blocks == 3 + 2 + 6 + 2);
  CHECK(whole.report() ==
        "audit: 4 parameters, each an array of its own; every gradient has a path, is finite and not all "
        "zero, in 13 "
        "named parts too");
}

TEST_CASE("audit finds a head that hears nothing, in packed and in separate weights") {
  for (const bool torch_names : {false, true}) {
    for (const std::int64_t kdim : {width, width + 1}) {
      const nn::MultiHeadAttention m =
          module({.kdim = kdim, .names = torch_names ? nn::ParameterNames::torch : nn::ParameterNames::heed});
      Generator generator(2);
      const Tensor key = randn({2, 6, kdim}, generator);
      const nn::QkvProjection::Result heads = m.qkv(sequence(), key, sequence());
      const auto cut = [&](const Tensor& x) { return transpose(reshape(x, {2, 6, 2, width / 2}), 1, 2); };
      const Tensor y = attention(cut(heads.q), cut(heads.k), cut(heads.v)).output;
      const Tensor one_head = y * tensor({1.F, 0.F}, {2, 1, 1});
      const AuditReport report = audit(loss_of(m.out(reshape(transpose(one_head, 1, 2), {2, 6, width}))), m);
      INFO(report.report());
      CHECK_FALSE(report.passed);
      for (const char* part : {"q of head 1", "k of head 1", "v of head 1", "out of head 1"}) {
        CHECK(finding_of(report, AuditProblem::zero_gradient, part) != nullptr);
      }
      CHECK(report.findings.size() == 4);
    }
  }
}

TEST_CASE("audit passes honest models, part by part") {
  Generator generator(1);
  const Tensor tokens = randint(0, 11, {2, 6}, generator);
  const nn::CausalLM model(
      {.vocab_size = 11, .context = 6, .num_layers = 2, .num_heads = 4, .embed_dim = 16, .num_kv_heads = 2},
      generator);
  const Tensor targets = randint(0, 11, {2, 6}, generator);
  const AuditReport report = audit(model.loss(tokens, targets), model);
  INFO(report.report());
  CHECK(report.passed);
  CHECK(report.findings.empty());
  CHECK(report.blocks > 20);
  const auto whole = [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{model.loss(x[0], targets)};
  };
  CHECK(audit(checkpoint(whole, std::span(&tokens, 1))[0], model).passed);

  const nn::TransformerDecoderLayer decoder(
      {.d_model = width, .nhead = 2, .dim_feedforward = 16, .dropout = 0}, generator);
  CHECK(audit(loss_of(decoder(sequence(), randn({2, 9, width}, generator))), decoder).passed);
}

TEST_CASE("audit reports leaves on the tape that the module does not list", "[fault-46]") {
  Generator generator(1);
  const Forgetful model(generator);
  const Tensor loss = loss_of(model(sequence()));
  const AuditReport report = audit(loss, model);
  INFO(report.report());
  CHECK_FALSE(report.passed);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].problem == AuditProblem::not_listed);
  CHECK(report.findings[0].detail == "f32[3, 8], read by linear in Forgetful.Linear");
  CHECK(report.report() ==
        "audit: 2 parameters, 1 findings\n  (no parameter)  not listed     f32[3, 8], read by linear in "
        "Forgetful.Linear");
  CHECK(audit(loss, model, {.known = {model.forgotten.weight}}).passed);

  Tensor x = sequence();
  x.set_requires_grad();
  CHECK_FALSE(audit(loss_of(model.listed(x)), model.listed).passed);
  CHECK(audit(loss_of(model.listed(x)), model.listed, {.known = {x}}).passed);
}

TEST_CASE("audit warns of rows that occurred and hear nothing") {
  Generator generator(1);
  nn::Embedding table({.count = 5, .dim = width}, generator);
  const Tensor tokens = tensor<std::int64_t>({1, 3, 3, 4});
  const Tensor weights = tensor({1.F, 1.F, 0.F, 0.F}, {4, 1});
  const AuditReport report = audit(sum(table(tokens) * weights), table);
  INFO(report.report());
  CHECK(report.passed);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].warning());
  CHECK(report.findings[0].detail == "1 of the 3 rows that occurred, the first is 4");
  const auto json = nlohmann::json::parse(report.to_json());
  CHECK(json["findings"][0]["problem"] == "idle rows");
  CHECK(json["findings"][0]["warning"] == true);
  // A padding index is idle on purpose.
  CHECK(audit(sum(embedding(table.weight, tokens, 4) * weights), table).findings.empty());
  CHECK(audit(sum(table(tokens)), table).findings.empty());
}

TEST_CASE("a module of one's own names parts in its visit; sizes must add up") {
  const Gated model(width);
  const Tensor y = linear(sequence(), model.weight);
  const AuditReport report =
      audit(sum(narrow(y, 2, 0, width) * sigmoid(narrow(y, 2, width, width)).detach()), model);
  INFO(report.report());
  CHECK_FALSE(report.passed);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].block == "gate");
  CHECK(report.findings[0].detail == "all of [8, 16) along axis 0");
  const Gated wrong(width - 1);
  CHECK_THROWS_AS(audit(loss_of(linear(sequence(), wrong.weight)), wrong), ShapeError);
}
