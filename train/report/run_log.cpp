#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include <heed/io/read_file.h>
#include <heed/train/report/run_log.h>

namespace heed::train::report {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

constexpr int most_depth = 4;  // heed writes 2: an object of lists
constexpr std::uint64_t most_log_bytes = std::uint64_t{1} << 30;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

double number(const Json& value) { return value.is_number() ? value.get<double>() : missing; }
double number(const Json& entry, const char* name) { return number(entry.value(name, Json())); }

std::int64_t count(const Json& entry, const char* name) {
  const Json value = entry.value(name, Json());
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }
std::string text(const Json& entry, const char* name) { return text(entry.value(name, Json())); }

template <class Read>
auto list(const Json& entry, const char* name, Read read) {
  std::vector<decltype(read(Json()))> values;
  const Json array = entry.value(name, Json());
  if (!array.is_array()) return values;
  for (const Json& value : array) values.push_back(read(value));
  return values;
}

Numbers numbers(const Json& entry, const char* name) {
  return list(entry, name, [](const Json& value) { return number(value); });
}

RunHeader header_of(const Json& entry) {
  RunHeader header{.text = text(entry, "text"),
                   .unit = text(entry, "unit"),
                   .prompt = text(entry, "prompt"),
                   .version = text(entry, "version"),
                   .date = text(entry, "date"),
                   .tokens = count(entry, "tokens"),
                   .tokens_per_step = count(entry, "tokens_per_step"),
                   .vocabulary = count(entry, "vocabulary"),
                   .parameters = count(entry, "parameters"),
                   .layers = count(entry, "layers"),
                   .heads = count(entry, "heads"),
                   .even_entropy = number(entry, "even_entropy"),
                   .parts = list(entry, "parts", [](const Json& value) { return text(value); })};
  if (const double floor = number(entry, "floor"); std::isfinite(floor)) header.floor = floor;
  return header;
}

std::vector<OperationCost> profile_of(const Json& entry) {
  const auto ops = list(entry, "ops", [](const Json& value) { return text(value); });
  const Numbers forward = numbers(entry, "forward_ms");
  const Numbers backward = numbers(entry, "backward_ms");
  const Numbers saved = numbers(entry, "saved_bytes");
  const auto at = [](const Numbers& values, std::size_t i) {
    return i < values.size() ? values[i] : missing;
  };
  std::vector<OperationCost> profile;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    profile.push_back({ops[i], at(forward, i), at(backward, i), at(saved, i)});
  }
  return profile;
}

StepRecord step_of(const Json& entry, std::int64_t step) {
  StepRecord record{.step = step,
                    .loss = number(entry, "loss"),
                    .lr = number(entry, "lr"),
                    .milliseconds = number(entry, "ms"),
                    .gradient_norm = number(entry, "gradient_norm"),
                    .profile = profile_of(entry)};
  if (entry.contains("part_norms")) {
    record.measured = {.part_norms = numbers(entry, "part_norms"),
                       .heads = {.entropy = numbers(entry, "entropy"),
                                 .saturation = numbers(entry, "saturation"),
                                 .undivided_entropy = numbers(entry, "undivided_entropy"),
                                 .undivided_saturation = numbers(entry, "undivided_saturation")}};
  }
  return record;
}

}  // namespace

std::vector<LogField> log_line(const RunHeader& header) {
  std::vector<LogField> fields = {{"step", std::int64_t{0}},
                                  {"text", header.text},
                                  {"unit", header.unit},
                                  {"prompt", header.prompt},
                                  {"tokens", header.tokens},
                                  {"vocabulary", header.vocabulary},
                                  {"parameters", header.parameters},
                                  {"layers", header.layers},
                                  {"heads", header.heads},
                                  {"even_entropy", header.even_entropy},
                                  {"parts", header.parts}};
  if (header.floor) fields.push_back({"floor", *header.floor});
  if (!header.version.empty()) fields.push_back({"version", header.version});
  if (!header.date.empty()) fields.push_back({"date", header.date});
  if (header.tokens_per_step > 0) fields.push_back({"tokens_per_step", header.tokens_per_step});
  return fields;
}

std::vector<LogField> log_line(const StepRecord& record) {
  std::vector<LogField> fields = {{"step", record.step},
                                  {"loss", record.loss},
                                  {"lr", record.lr},
                                  {"ms", record.milliseconds},
                                  {"gradient_norm", record.gradient_norm}};
  if (record.measured) {
    const HeadStatistics& heads = record.measured->heads;
    fields.push_back({"part_norms", record.measured->part_norms});
    fields.push_back({"entropy", heads.entropy});
    fields.push_back({"saturation", heads.saturation});
    fields.push_back({"undivided_entropy", heads.undivided_entropy});
    fields.push_back({"undivided_saturation", heads.undivided_saturation});
  }
  if (record.profile.empty()) return fields;
  std::vector<std::string> ops;
  Numbers forward, backward, saved;
  for (const OperationCost& cost : record.profile) {
    ops.push_back(cost.op);
    forward.push_back(cost.forward_ms);
    backward.push_back(cost.backward_ms);
    saved.push_back(cost.saved_bytes);
  }
  fields.push_back({"ops", ops});
  fields.push_back({"forward_ms", forward});
  fields.push_back({"backward_ms", backward});
  fields.push_back({"saved_bytes", saved});
  return fields;
}

std::vector<LogField> log_line(const Evaluation& evaluation) {
  return {{"step", evaluation.step}, {"val_loss", evaluation.loss}, {"sample", evaluation.sample}};
}

bool add_line(RunLog& log, const std::string& line, std::int64_t last_step) {
  if (!io::json_object_problem(line, most_depth).empty()) return false;
  const Json entry = Json::parse(line);
  if (!entry.value("step", Json()).is_number_integer()) return false;
  const auto step = entry["step"].get<std::int64_t>();
  if (step < 0 || step > last_step) return false;
  if (entry.contains("loss")) {
    log.steps.push_back(step_of(entry, step));
  } else if (entry.contains("val_loss")) {
    log.evaluations.push_back({step, number(entry, "val_loss"), text(entry, "sample")});
  } else if (entry.contains("unit")) {
    log.header = header_of(entry);
  } else {
    return false;
  }
  return true;
}

RunLog read_run_log(const std::string& path) {
  RunLog log;
  std::istringstream lines(io::read_file(path, most_log_bytes));
  for (std::string line; std::getline(lines, line);) add_line(log, line);
  return log;
}

}  // namespace heed::train::report
