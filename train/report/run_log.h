#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/train/report/jsonl_log.h>
#include <heed/train/report/measure.h>

namespace heed::train::report {

/// What is known of a run before its first step.
struct RunHeader {
  std::string text = {};       // what is learned
  std::string unit = "token";  // what a token is
  std::string prompt = {};     // what the samples go on from
  std::int64_t tokens = 0;     // of the text
  std::int64_t vocabulary = 0;
  std::int64_t parameters = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;                      // of each layer
  std::optional<double> floor = std::nullopt;  // the least mean loss any model can reach
  double even_entropy = 0;                     // of heads that look at all tokens of a measured row alike
  std::vector<std::string> parts = {};         // that gradient norms are of
};

/// Taken now and then.
struct Measurement {
  std::vector<double> part_norms = {};  // of the gradient, before it is clipped
  HeadStatistics heads = {};
};

/// What one operation took in a step: time, and bytes that the tape kept for it when it was longest.
struct OperationCost {
  std::string op = {};
  double forward_ms = 0;
  double backward_ms = 0;
  double saved_bytes = 0;
};

struct StepRecord {
  std::int64_t step = 0;  // counted from 1
  double loss = 0;
  double lr = 0;
  double milliseconds = 0;
  double gradient_norm = 0;
  std::optional<Measurement> measured = std::nullopt;
  std::vector<OperationCost> profile = {};  // mostly empty
};

struct Evaluation {
  std::int64_t step = 0;
  double loss = 0;
  std::string sample = {};  // what the model wrote after the prompt
};

/// A whole run. Numbers that are missing or not finite are NaN.
struct RunLog {
  RunHeader header = {};
  std::vector<StepRecord> steps = {};
  std::vector<Evaluation> evaluations = {};
};

/// The lines of a log, one a record. A header counts as step 0.
std::vector<LogField> log_line(const RunHeader& header);
std::vector<LogField> log_line(const StepRecord& record);
std::vector<LogField> log_line(const Evaluation& evaluation);

/// Takes up one line of a log if it is such a line of at most `last_step`; false if it is torn, foreign or later.
bool add_line(RunLog& log, const std::string& line, std::int64_t last_step = INT64_MAX);

/// Throws    IoError (the file cannot be read, or is larger than 1 GiB).
RunLog read_run_log(const std::string& path);

}  // namespace heed::train::report
