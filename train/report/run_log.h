#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/train/report/jsonl_log.h>
#include <heed/train/report/measure.h>

namespace heed::train::report {

/// What is known about a run before its first step.
struct RunHeader {
  std::string text = {};             // the text that the model learns
  std::string unit = "token";        // what a token is, such as a character
  std::string prompt = {};           // that the samples continue
  std::string version = {};          // of heed, if known
  std::string date = {};             // when the run began, if known, such as 2025-01-31 09:30 UTC
  std::int64_t tokens = 0;           // of the text
  std::int64_t tokens_per_step = 0;  // of all sequences of a step; 0 where not known
  std::int64_t vocabulary = 0;
  std::int64_t parameters = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;                      // of each layer
  std::optional<double> floor = std::nullopt;  // the lowest mean loss that any model can reach
  double even_entropy = 0;                     // of heads that attend to all allowed tokens equally
  std::vector<std::string> parts = {};         // names of the parts whose gradient norms are measured
};

/// Measured at some of the steps.
struct Measurement {
  std::vector<double> part_norms = {};  // gradient norms of the parts, before clipping
  HeadStatistics heads = {};
};

/// What one operation cost in a step: time, and the bytes that the tape kept for it at its largest size.
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
  std::vector<OperationCost> profile = {};  // empty for most steps
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

/// The fields of one line of a log, for each kind of record. A header counts as step 0.
std::vector<LogField> log_line(const RunHeader& header);
std::vector<LogField> log_line(const StepRecord& record);
std::vector<LogField> log_line(const Evaluation& evaluation);

/// Adds one line of a log to `log`. Returns false, and adds nothing, if the line is incomplete, is of
/// another kind, or belongs to a step after `last_step`.
bool add_line(RunLog& log, const std::string& line, std::int64_t last_step = INT64_MAX);

/// Reads a whole log.
/// Throws    IoError (the file cannot be read, or is larger than 1 GiB).
RunLog read_run_log(const std::string& path);

}  // namespace heed::train::report
