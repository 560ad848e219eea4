#include "report_command.h"

#include <algorithm>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/core/error.h>
#include <heed/core/random.h>
#include <heed/io/read_file.h>
#include <heed/train/generate.h>
#include <heed/train/language_model.h>
#include <heed/train/report.h>

namespace tiny_lm {
namespace {

namespace fs = std::filesystem;
namespace train = heed::train;

constexpr std::size_t kMostTokens = 48;  // whose attention is drawn, unless a text is given

// Of the given text, or of the prompt and what the model writes after it.
train::AttentionMaps maps_of(const train::LanguageModel& lm, const std::string& prompt,
                             const std::string& text) {
  std::vector<std::int64_t> tokens = lm.tokenizer->encode(text.empty() ? prompt : text);
  const auto context = static_cast<std::size_t>(lm.model.options().context);
  if (text.empty()) {
    heed::Generator random(1);
    const auto more = static_cast<std::int64_t>(std::min(kMostTokens, context)) - std::ssize(tokens);
    const auto written =
        train::generate(lm.model, tokens, std::max<std::int64_t>(more, 0), {.temperature = 0.8}, random);
    tokens.insert(tokens.end(), written.begin(), written.end());
  }
  return train::attention_maps(lm.model, *lm.tokenizer,
                               std::span(tokens).first(std::min(tokens.size(), context)));
}

}  // namespace

void add_report_options(CLI::App& command, ReportOptions& o) {
  command.add_option("run", o.run, "Folder of a run, the --out of train")->required();
  command.add_option("--text", o.text,
                     "Text in which the heads are shown; without it, what the model writes");
}

void write_run_report(const fs::path& folder, const std::string& text) {
  train::ReportData page;
  page.run = train::read_run_log(folder / "log.jsonl");
  page.title = fmt::format("tiny_lm: {}", page.run->header.text);
  if (fs::exists(folder / "run.json")) page.settings = heed::io::read_file(folder / "run.json", 1 << 20);
  if (fs::exists(folder / "model.safetensors")) {
    const std::string prompt = page.run->header.prompt.empty() ? "\n" : page.run->header.prompt;
    page.attention = maps_of(train::load_language_model(folder), prompt, text);
  }
  train::write_report(folder / "report.html", page);
}

int report_run(const ReportOptions& o) {
  write_run_report(o.run, o.text);
  fmt::print("wrote {}\n", (o.run / "report.html").string());
  return 0;
}

}  // namespace tiny_lm
