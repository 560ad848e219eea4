#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/app/model_folder.h>
#include <heed/app/run/page.h>
#include <heed/core/random.h>
#include <heed/io/read_file.h>
#include <heed/lm/generate.h>
#include <heed/text/induction_source.h>
#include <heed/train/report/induction_scores.h>
#include <heed/train/report/report.h>

namespace heed::app {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_tokens = 48;  // drawn, unless a text is given
constexpr double marked = 0.5;           // a head is marked if this share of its weight is on the answer

// Whether the run learned what the induction source tells, as its settings say.
bool learned_induction(const std::string& settings) {
  const auto json = nlohmann::json::parse(settings, nullptr, false);
  return json.is_object() && json.value("source", nlohmann::json()) == "induction" &&
         json.value("data", nlohmann::json::array()).empty();
}

// The prompt and what the model writes after it.
std::string written(const lm::LanguageModel& lm, const std::string& prompt, std::size_t tokens) {
  heed::Generator random(1);
  const std::vector<std::int64_t> ids = lm.tokenizer->encode(prompt);
  const auto more = std::max<std::int64_t>(static_cast<std::int64_t>(tokens) - std::ssize(ids), 0);
  return prompt + lm.tokenizer->decode(lm::generate(lm.model, ids, more, {.temperature = 0.8}, random));
}

void add_attention(train::report::ReportData& page, lm::LanguageModel lm, std::string text) {
  const std::int64_t context = lm.model.options().context;
  const auto most = std::min(most_tokens, static_cast<std::size_t>(context));
  const text::InductionSource source;
  const bool induction =
      learned_induction(page.settings) && !source.copies(source.generate(1, context, 0)).empty();
  if (text.empty() && induction) {
    text = source.generate(1, static_cast<std::int64_t>(most), 0);
  } else if (text.empty()) {
    const std::string& prompt = page.run->header.prompt;
    text = written(lm, prompt.empty() ? "\n" : prompt, most);
  }
  const std::vector<std::int64_t> tokens = lm.tokenizer->encode(text);
  const auto shown = std::min(tokens.size(), static_cast<std::size_t>(context));
  page.attention = train::report::attention_maps(lm.model, *lm.tokenizer, std::span(tokens).first(shown));
  if (!induction) return;
  const auto scores = train::report::induction_scores(lm.model, *lm.tokenizer, source);
  for (std::size_t layer = 0; layer < scores.size(); ++layer) {
    for (std::size_t head = 0; head < scores[layer].size(); ++head) {
      if (scores[layer][head] < marked) continue;
      page.marks.push_back(
          {static_cast<std::int64_t>(layer), static_cast<std::int64_t>(head),
           fmt::format("induction: {:.2f} of its weight where the answer stands", scores[layer][head])});
    }
  }
  std::stable_sort(page.marks.begin(), page.marks.end(), [&](const auto& a, const auto& b) {
    const auto score = [&](const train::report::HeadMark& mark) {
      return scores[static_cast<std::size_t>(mark.layer)][static_cast<std::size_t>(mark.head)];
    };
    return score(a) > score(b);
  });
}

}  // namespace

void write_page(const fs::path& folder, const std::string& text) {
  train::report::ReportData page;
  page.run = train::report::read_run_log(folder / "log.jsonl");
  page.title = fmt::format("heed: {}", page.run->header.text);
  if (fs::exists(folder / "run.json")) page.settings = heed::io::read_file(folder / "run.json", 1 << 20);
  if (fs::exists(folder / "model.safetensors")) {
    add_attention(page, open_model("report", folder), text);
  }
  train::report::write_report(folder / "report.html", page);
}

}  // namespace heed::app
