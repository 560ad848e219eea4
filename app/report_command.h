#pragma once

#include <filesystem>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace heed::app {

/// What `heed report` can be told.
struct ReportOptions {
  std::filesystem::path run;
  std::string text = {};  // whose attention is drawn; empty: what the model writes
};

void add_report_options(CLI::App& command, ReportOptions& options);

/// `heed report`: makes report.html anew from what the run has left, also of a run that has not ended.
int report_run(const ReportOptions& options);

/// The page of a run's folder: its log, its settings and, where there is a model, where it looks in a text.
/// Throws    IoError, and ValueError (the text has tokens the model does not know).
void write_run_report(const std::filesystem::path& folder, const std::string& text = {});

}  // namespace heed::app
