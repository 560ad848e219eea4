#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <heed/app/commands/commands.h>
#include <heed/app/output.h>
#include <heed/app/run/page.h>

namespace heed::app {
namespace {

struct ReportOptions {
  std::filesystem::path run;
  std::string text = {};  // whose attention is drawn; empty: what the model writes
};

int report_run(const ReportOptions& o) {
  write_page(o.run, o.text);
  say("wrote {}\n", (o.run / "report.html").string());
  return 0;
}

}  // namespace

Action report_command(CLI::App& parser) {
  const auto o = std::make_shared<ReportOptions>();
  parser.add_option("RUN", o->run, "Folder of a run: the --out of train")->required()->type_name("");
  parser.add_option("--text", o->text,
                    "Text in which the heads are shown; without it, what the model writes");
  return {.run = [o](const auto&) { return report_run(*o); }};
}

}  // namespace heed::app
