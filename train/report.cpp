#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include <heed/io/atomic_file.h>
#include <heed/train/heat_map.h>
#include <heed/train/html.h>
#include <heed/train/report.h>
#include <heed/train/report_style.h>

namespace heed::train {
namespace {

std::string section(std::string_view title, const std::string& body) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}\n</section>\n", title, body);
}

// Text in a chart keeps its size, so a phone gets a chart of its own instead of a smaller picture.
std::string chart_for_all_widths(const LineChart& chart, int height) {
  return fmt::format("<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>",
                     render_line_chart(chart, 1050, height), render_line_chart(chart, 346, 250));
}

std::string configuration_section(const ReportData& data) {
  if (data.configuration.empty()) return "";
  std::string list = "<dl>\n";
  for (const auto& [name, value] : data.configuration) {
    list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  }
  return section("Configuration", list + "</dl>");
}

std::string loss_section(const ReportData& data) {
  LineChart chart{
      .label = "Loss over the steps of training",
      .x_title = "step",
      .y_title = "loss (nats per token)",
      .curves = {{"training", "train", data.train_loss}, {"validation", "validation", data.validation_loss}},
      .level = data.floor,
      .level_name = data.floor ? fmt::format("floor {:.3f}", *data.floor) : "",
      .from_zero = true};
  std::string body;
  if (data.floor) {
    body =
        "<p class=\"note\">The floor is the entropy that the text keeps even for a reader who knows exactly "
        "how it is "
        "made. No model can go below it for long.</p>\n";
  }
  return section(data.floor ? "Loss against its floor" : "Loss", body + chart_for_all_widths(chart, 380));
}

std::string learning_rate_section(const ReportData& data) {
  if (data.learning_rate.empty()) return "";
  const LineChart chart{.label = "Learning rate over the steps of training",
                        .x_title = "step",
                        .y_title = "learning rate",
                        .curves = {{"learning rate", "train", data.learning_rate}},
                        .from_zero = true};
  return section("Learning rate", chart_for_all_widths(chart, 220));
}

std::string sample_section(const ReportData& data) {
  if (data.prompt.empty() && data.sample.empty()) return "";
  std::string body;
  if (!data.prompt.empty()) body = "<p class=\"note\">The coloured beginning was given.</p>\n";
  return section(
      "What the model writes",
      body + fmt::format("<pre><b>{}</b>{}</pre>", escape_html(data.prompt), escape_html(data.sample)));
}

std::string attention_section(const ReportData& data) {
  if (data.attention.empty()) return "";
  std::string body =
      "<p class=\"note\">Each row is a token that looks back, each column a token that is looked at; the "
      "more ink, the "
      "more weight (by its square root). Point at a cell to read it. \u2423 is a space, \u21B5 a new "
      "line.</p>\n";
  for (std::size_t i = 0; i < data.attention.size();) {
    const std::int64_t layer = data.attention[i].layer;
    const bool open = i == 0 || layer == data.attention.back().layer;
    body += fmt::format("<details{}><summary>Layer {}</summary>\n<div class=\"heads\">\n",
                        open ? " open" : "", layer);
    for (; i < data.attention.size() && data.attention[i].layer == layer; ++i) {
      const auto& map = data.attention[i];
      const auto label = fmt::format("Attention of layer {}, head {}", layer, map.head);
      body += fmt::format("<div><h3>Head {}</h3>{}</div>\n", map.head,
                          render_heat_map(data.tokens, map.weights, label));
    }
    body += "</div></details>\n";
  }
  return section("Where the heads look", body);
}

}  // namespace

std::string loss_sentence(double loss, std::optional<double> floor) {
  if (!floor || !std::isfinite(loss)) return fmt::format("loss {:.3f}", loss);
  const auto thousandths = [](double value) {
    return static_cast<double>(std::llround(value * 1000)) / 1000;
  };
  const double gap = thousandths(loss) - thousandths(*floor);
  return fmt::format("loss {:.3f} = floor {:.3f} {} {:.3f}", thousandths(loss), thousandths(*floor),
                     gap < -0.0005 ? "-" : "+", std::abs(gap));
}

std::string render_report(const ReportData& data) {
  const auto title = escape_html(data.title);
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n", title, kReportStyle);
  page += fmt::format("<h1>{}</h1>\n", title);
  if (data.loss) page += fmt::format("<p class=\"result\">{}</p>\n", loss_sentence(*data.loss, data.floor));
  page += loss_section(data) + sample_section(data) + attention_section(data);
  page += learning_rate_section(data) + configuration_section(data);
  return page + "</main>\n</body>\n</html>\n";
}

void write_report(const std::filesystem::path& path, const ReportData& data) {
  io::write_file(path, render_report(data));
}

}  // namespace heed::train
