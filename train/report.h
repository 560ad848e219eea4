#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <heed/train/line_chart.h>

namespace heed::train {

struct AttentionMap {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::vector<float> weights = {};  // [tokens, tokens], row-major: query, key
};

/// All that a report shows. What is empty is left out of the page.
struct ReportData {
  std::string title = "heed: a training run";
  std::vector<std::pair<std::string, std::string>> configuration = {};  // name, value
  std::vector<CurvePoint> train_loss = {};
  std::vector<CurvePoint> validation_loss = {};
  std::vector<CurvePoint> learning_rate = {};
  std::optional<double> floor = std::nullopt;  // the least mean loss any model can reach
  std::optional<double> loss = std::nullopt;   // at the end
  std::string prompt = {};                     // shown before the sample
  std::string sample = {};
  std::vector<std::string> tokens = {};  // of the text whose attention is drawn
  std::vector<AttentionMap> attention = {};
};

/// `loss 1.412 = floor 1.040 + 0.372`, whose rounded numbers add up; without a floor `loss 1.412`.
std::string loss_sentence(double loss, std::optional<double> floor);

/// One HTML page that needs nothing else: inline CSS and SVG, no script, no network; light and dark.
/// Throws    ShapeError when an attention map does not fit the tokens.
std::string render_report(const ReportData& data);

/// Writes render_report(data) to a file, whole or not at all.
/// Throws    ShapeError, IoError.
void write_report(const std::filesystem::path& path, const ReportData& data);

}  // namespace heed::train
