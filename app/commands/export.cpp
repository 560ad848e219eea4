#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <heed/app/commands/commands.h>
#include <heed/app/model_folder.h>
#include <heed/app/output.h>
#include <heed/core/arguments.h>
#include <heed/lm/pretrained.h>
#include <heed/text/bpe_tokenizer.h>

namespace heed::app {
namespace {

constexpr std::int64_t most_mib = std::int64_t{1} << 20;

struct ExportOptions {
  std::filesystem::path model;
  std::filesystem::path out;
  std::string format = "gpt2";  // gpt2, llama, nanogpt
  std::int64_t shard_mib = 0;   // 0: one file
};

lm::WeightFormat format_of(const std::string& name) {
  if (name == "llama") return lm::WeightFormat::llama;
  return name == "nanogpt" ? lm::WeightFormat::nanogpt : lm::WeightFormat::gpt2;
}

int export_model(const ExportOptions& o) {
  heed::check_value(o.shard_mib >= 0 && o.shard_mib <= most_mib, "export", "--shard-mib", o.shard_mib,
                    fmt::format("0 to {}", most_mib));
  const lm::LanguageModel lm = open_model("export", o.model);
  lm::save_pretrained(
      o.out, lm.model,
      {.format = format_of(o.format), .shard_bytes = static_cast<std::uint64_t>(o.shard_mib) << 20});
  text::save_tokenizer(o.out / "tokenizer.json", *lm.tokenizer);
  say("exported  {} -> {}\n", describe_model(lm), o.out.string());
  return 0;
}

}  // namespace

Action export_command(CLI::App& parser) {
  const auto o = std::make_shared<ExportOptions>();
  add_model_argument(parser, o->model);
  parser.add_option("--out", o->out, "Folder to write")->required();
  parser.add_option("--format", o->format, "Whose names and layouts")
      ->check(CLI::IsMember({"gpt2", "llama", "nanogpt"}))
      ->capture_default_str();
  parser.add_option("--shard-mib", o->shard_mib, "The most MiB in one file; 0: all in one")
      ->capture_default_str();
  return {.run = [o](const auto&) { return export_model(*o); }};
}

}  // namespace heed::app
