#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/core/arguments.h>
#include <heed/train/report/report.h>

namespace heed::app {
namespace {

struct AttendOptions {
  std::filesystem::path model;
  std::string text;
  std::optional<std::int64_t> layer = {};  // none: all
  std::optional<std::int64_t> head = {};   // none: all
  std::filesystem::path page = {};         // empty: attention.html beside the model
};

void check_choice(const char* flag, std::optional<std::int64_t> value, std::int64_t count, const char* what) {
  if (!value) return;
  heed::check_value(
      *value >= 0 && *value < count, "attend", flag, *value,
      fmt::format("0 to {}, as the model has {} {}{}", count - 1, count, what, count == 1 ? "" : "s"));
}

int attend_text(const AttendOptions& o) {
  const lm::LanguageModel lm = open_model("attend", o.model);
  check_choice("--layer", o.layer, lm.model.options().num_layers, "layer");
  check_choice("--head", o.head, lm.model.options().num_heads, "head");
  const std::vector<std::int64_t> tokens = lm.tokenizer->encode(o.text);
  heed::check_value(!tokens.empty(), "attend", "length of the text", std::int64_t{0}, "at least 1");
  const train::report::AttentionMaps maps = train::report::attention_maps(lm.model, *lm.tokenizer, tokens);
  for (std::int64_t layer = 0; layer < maps.layers; ++layer) {
    for (std::int64_t head = 0; head < maps.heads; ++head) {
      if (layer != o.layer.value_or(layer) || head != o.head.value_or(head)) continue;
      say("layer {}, head {}\n{}\n", layer, head, train::report::draw_map(maps, layer, head));
    }
  }
  const std::filesystem::path page = o.page.empty() ? o.model / "attention.html" : o.page;
  train::report::write_report(page, {.title = "heed: where the heads look", .attention = maps});
  say("wrote {}\n", page.string());
  return 0;
}

}  // namespace

Action attend_command(CLI::App& parser) {
  const auto o = std::make_shared<AttendOptions>();
  add_model_argument(parser, o->model);
  parser.add_option("TEXT", o->text, "Text to look into")->required()->type_name("");
  parser.add_option("--layer", o->layer, "Print this layer alone, counted from 0");
  parser.add_option("--head", o->head, "Print this head alone, counted from 0");
  parser.add_option("--page", o->page, "HTML file to write; attention.html in the model's folder by default");
  return {.run = [o](const auto&) { return attend_text(*o); }};
}

}  // namespace heed::app
