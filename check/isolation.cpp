#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <heed/check/isolation.h>
#include <heed/check/isolation_dead_rows.h>
#include <heed/check/isolation_probe.h>
#include <heed/check/isolation_tape.h>
#include <heed/core/arguments.h>

namespace heed::check {
namespace {

using Questions = std::vector<IsolationQuestion>;

// The question whether the forbidden places of x reach the other places of y.
template <class Rule>
IsolationQuestion question_of(const SequenceGrid& grid, std::uint64_t number, bool mutual,
                              const Rule& is_forbidden) {
  IsolationQuestion question{.number = number, .forbidden = {}, .kept = {}, .mutual = mutual};
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    question.forbidden.push_back(is_forbidden(grid.place(i)));
    question.kept.push_back(!question.forbidden.back());
  }
  return question;
}

// A sample of the questions, evenly spread, including the first and the last.
Questions sample_of(const Questions& questions, std::int64_t most) {
  const auto count = static_cast<std::int64_t>(questions.size());
  if (count <= most) return questions;
  Questions chosen;
  for (std::int64_t i = 0; i < most; ++i) {
    chosen.push_back(questions[static_cast<std::size_t>(most == 1 ? 0 : i * (count - 1) / (most - 1))]);
  }
  return chosen;
}

// Ways that run the model anew are asked all questions if there are at most the first number, otherwise
// the second number.
constexpr std::int64_t every_question = 256;
constexpr std::int64_t some_questions = 64;

Questions questions_of(IsolationWay way, const Questions& questions, const IsolationOptions& options) {
  if (options.max_questions) return sample_of(questions, *options.max_questions);
  const bool all = way == IsolationWay::gradient || questions.size() <= every_question;
  return all ? questions : sample_of(questions, some_questions);
}

IsolationFinding finding_of(IsolationWay way) {
  switch (way) {
    case IsolationWay::planted_nan:
      return IsolationFinding::weight_zero;
    case IsolationWay::replacement:
      return IsolationFinding::value;
    case IsolationWay::gradient:
      break;
  }
  return IsolationFinding::derivative;
}

void name_leak(IsolationResult& result, const IsolationProbe& probe, IsolationWay way,
               const IsolationQuestion& question) {
  const IsolationLeak leak = probe.first_leak(way, question);
  result.finding = finding_of(way);
  result.from = leak.from;
  result.to = leak.to;
  const CarryingOp carrier = find_carrying_op(probe, question, leak);
  result.op = carrier.op;
  result.scope = carrier.scope;
}

// The leaking pair is taken from the way that says most about it.
constexpr IsolationWay strongest_first[] = {IsolationWay::gradient, IsolationWay::replacement,
                                            IsolationWay::planted_nan};

IsolationResult ask(std::string check, std::string in_words, const IsolationProbe& probe,
                    const Questions& questions, const IsolationOptions& options) {
  if (options.max_questions) {
    check_value(*options.max_questions >= 1, check, "max_questions", *options.max_questions, "at least 1");
  }
  IsolationResult result{
      .check = std::move(check), .problem = probe.problem(), .question = std::move(in_words)};
  result.possible = static_cast<std::int64_t>(questions.size());
  result.passed = result.problem.empty();
  if (!result.passed) return result;
  for (const IsolationWay way : strongest_first) {
    IsolationEvidence& evidence = result.evidence[static_cast<std::size_t>(way)];
    evidence.not_asked = probe.obstacle(way);
    if (!evidence.not_asked.empty()) continue;
    for (const IsolationQuestion& question : questions_of(way, questions, options)) {
      ++evidence.asked;
      if (!probe.leaks(way, question)) continue;
      ++evidence.leaks;
      if (result.finding == IsolationFinding::nothing) name_leak(result, probe, way, question);
    }
  }
  result.passed = result.finding == IsolationFinding::nothing ||
                  (result.finding == IsolationFinding::weight_zero && !options.poison_proof);
  return result;
}

void add_dead_rows(IsolationResult& result, const DeadRows& dead) {
  result.dead_rows = dead.count;
  result.dead = dead.first;
  result.dead_op = dead.op;
  result.dead_scope = dead.scope;
  result.passed = result.passed && dead.count == 0;
}

}  // namespace

IsolationResult check_causal(const SequenceModel& model, const Tensor& x, const IsolationOptions& options) {
  const IsolationProbe probe("check_causal", model, x, options);
  const SequenceGrid& grid = probe.grid();
  check_value(grid.positions >= 2, "check_causal", "positions of x", grid.positions, "at least 2");
  Questions questions;
  for (std::int64_t cut = 1; cut < grid.positions; ++cut) {
    questions.push_back(
        question_of(grid, questions.size(), false, [&](SequencePlace p) { return p.position >= cut; }));
  }
  return ask("check_causal", "no output hears a later position", probe, questions, options);
}

IsolationResult check_batch_isolation(const SequenceModel& model, const Tensor& x,
                                      const IsolationOptions& options) {
  const IsolationProbe probe("check_batch_isolation", model, x, options);
  const SequenceGrid& grid = probe.grid();
  check_value(grid.samples >= 2, "check_batch_isolation", "samples of x", grid.samples, "at least 2");
  Questions questions;
  for (std::int64_t sample = 0; sample < grid.samples; ++sample) {
    questions.push_back(
        question_of(grid, questions.size(), true, [&](SequencePlace p) { return p.sample == sample; }));
  }
  return ask("check_batch_isolation", "no output hears another sample", probe, questions, options);
}

IsolationResult check_padding(const SequenceModel& model, const Tensor& x, const Tensor& lengths,
                              const IsolationOptions& options) {
  const IsolationProbe probe("check_padding", model, x, options);
  const SequenceGrid& grid = probe.grid();
  check_dtype("check_padding", "lengths", lengths, {DType::i64});
  check_shape("check_padding", "lengths", lengths, {grid.samples}, "one length a sample");
  const std::vector<std::int64_t> length = lengths.to_vector<std::int64_t>();
  const auto is_padding = [&](SequencePlace p) {
    return p.position >= length[static_cast<std::size_t>(p.sample)];
  };
  const IsolationQuestion question = question_of(grid, 0, false, is_padding);
  const auto padded = std::count(question.forbidden.begin(), question.forbidden.end(), true);
  check_value(padded > 0 && padded < grid.size(), "check_padding", "places of padding", std::int64_t{padded},
              "at least 1, and not all");
  IsolationResult result =
      ask("check_padding", "no output within its length hears the padding", probe, {question}, options);
  if (result.problem.empty()) add_dead_rows(result, find_dead_rows(probe, question.kept));
  return result;
}

IsolationResult check_documents(const SequenceModel& model, const Tensor& x, const Tensor& ids,
                                const IsolationOptions& options) {
  const IsolationProbe probe("check_documents", model, x, options);
  const SequenceGrid& grid = probe.grid();
  check_dtype("check_documents", "ids", ids, {DType::i64});
  check_rank("check_documents", "ids", ids, 1, 2);
  const bool by_sample = ids.rank() == 2;
  check_shape("check_documents", "ids", ids,
              by_sample ? Shape{grid.samples, grid.positions} : Shape{grid.positions},
              "samples and positions of x");
  const std::vector<std::int64_t> id = ids.to_vector<std::int64_t>();
  const auto id_at = [&](SequencePlace p) {
    return id[static_cast<std::size_t>((by_sample ? p.sample * grid.positions : 0) + p.position)];
  };
  const std::set<std::int64_t> documents(id.begin(), id.end());
  check_value(documents.size() >= 2, "check_documents", "documents",
              static_cast<std::int64_t>(documents.size()), "at least 2");
  Questions questions;
  for (const std::int64_t document : documents) {
    questions.push_back(
        question_of(grid, questions.size(), true, [&](SequencePlace p) { return id_at(p) == document; }));
  }
  return ask("check_documents", "no output hears another document", probe, questions, options);
}

}  // namespace heed::check
