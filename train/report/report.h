#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/train/report/attention_maps.h>
#include <heed/train/report/run_log.h>

namespace heed::train::report {

/// A head that deserves attention, and why.
struct HeadMark {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::string reason = {};
};

/// All that a page can show. Missing parts are left out.
struct ReportData {
  std::string title = "heed: a training run";
  std::optional<RunLog> run = std::nullopt;
  std::optional<AttentionMaps> attention = std::nullopt;
  std::vector<HeadMark> marks = {};
  std::string settings = {};  // a JSON object; null, "" and [] stand for settings that did not apply
};

/// `loss 1.412 = floor 1.040 + 0.372`, with numbers rounded so that they add up; without a
/// floor `loss 1.412`.
std::string loss_sentence(double loss, std::optional<double> floor);

/// One self-contained HTML page: style, script and data are in it, and it may load nothing else. It has a
/// light and a dark form. Long curves are reduced to a thousand points, each the mean of consecutive steps.
/// docs/report.md explains the page.
/// Throws    ShapeError when an attention map does not fit the tokens.
std::string render_report(const ReportData& data);

/// Writes render_report(data) to a file, whole or not at all.
/// Throws    ShapeError, IoError.
void write_report(const std::string& path, const ReportData& data);

}  // namespace heed::train::report
