#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/core/error.h>
#include <heed/io/atomic_file.h>
#include <heed/train/report/html.h>
#include <heed/train/report/report.h>
#include <heed/train/report/report_page.h>

namespace heed::train::report {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t most_points = 1000;
constexpr std::size_t most_records = 200;

// Five digits are more than a chart can show. Losses have more: their distance to the floor is shown too.
constexpr int loss_digits = 8;

OrderedJson number(double value, int digits = 5) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

OrderedJson numbers(const std::vector<double>& values) {
  OrderedJson list = OrderedJson::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

// [[step, value], …]: means of equally many consecutive steps. If one of the values is missing, so
// is the mean.
OrderedJson curve(const std::vector<StepRecord>& steps, double StepRecord::*member, int digits) {
  const std::size_t stretch = (steps.size() + most_points - 1) / most_points;
  OrderedJson points = OrderedJson::array();
  for (std::size_t first = 0; first < steps.size(); first += stretch) {
    const std::size_t count = std::min(stretch, steps.size() - first);
    double step = 0;
    double value = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      step += static_cast<double>(steps[i].step) / static_cast<double>(count);
      value += steps[i].*member / static_cast<double>(count);
    }
    points.push_back({step, number(value, digits)});
  }
  return points;
}

// At most most_records of the records, evenly spread, including the last one.
template <class T>
std::vector<T> picked(const std::vector<T>& records) {
  const std::size_t count = std::min(records.size(), most_records);
  std::vector<T> result;
  for (std::size_t i = 1; i <= count; ++i) result.push_back(records[i * records.size() / count - 1]);
  return result;
}

OrderedJson measured(const std::vector<StepRecord>& steps) {
  std::vector<const StepRecord*> records;
  for (const StepRecord& record : steps) {
    if (record.measured) records.push_back(&record);
  }
  OrderedJson list = OrderedJson::array();
  for (const StepRecord* record : picked(records)) {
    const HeadStatistics& heads = record->measured->heads;
    list.push_back({{"step", record->step},
                    {"part_norms", numbers(record->measured->part_norms)},
                    {"entropy", numbers(heads.entropy)},
                    {"saturation", numbers(heads.saturation)},
                    {"undivided_entropy", numbers(heads.undivided_entropy)},
                    {"undivided_saturation", numbers(heads.undivided_saturation)}});
  }
  return list;
}

OrderedJson evaluations(const std::vector<Evaluation>& all) {
  OrderedJson list = OrderedJson::array();
  for (const Evaluation& e : picked(all)) {
    list.push_back({{"step", e.step}, {"loss", number(e.loss, loss_digits)}, {"sample", e.sample}});
  }
  return list;
}

// The last profile that was taken.
OrderedJson profile(const std::vector<StepRecord>& steps) {
  OrderedJson list = OrderedJson::array();
  const auto last = std::find_if(steps.rbegin(), steps.rend(),
                                 [](const StepRecord& record) { return !record.profile.empty(); });
  if (last == steps.rend()) return list;
  for (const OperationCost& cost : last->profile) {
    list.push_back({{"op", cost.op},
                    {"forward_ms", number(cost.forward_ms)},
                    {"backward_ms", number(cost.backward_ms)},
                    {"saved_bytes", number(cost.saved_bytes)}});
  }
  return list;
}

// What is known of the run's size, cost and origin; unknown counts and words are left out.
OrderedJson facts(const RunLog& run) {
  const RunHeader& header = run.header;
  OrderedJson known = OrderedJson::object();
  const auto add = [&known](const char* name, std::int64_t count) {
    if (count > 0) known[name] = count;
  };
  add("parameters", header.parameters);
  add("tokens", header.tokens);
  add("vocabulary", header.vocabulary);
  if (!run.steps.empty()) {
    double seconds = 0;
    for (const StepRecord& step : run.steps) {
      if (std::isfinite(step.milliseconds)) seconds += step.milliseconds / 1000;
    }
    add("steps", run.steps.back().step);
    const double seen =
        static_cast<double>(run.steps.back().step) * static_cast<double>(header.tokens_per_step);
    if (std::abs(seen) < 1e15) add("tokens_seen", static_cast<std::int64_t>(seen));
    if (seconds > 0) known["seconds"] = number(seconds);
  }
  if (!header.date.empty()) known["date"] = header.date;
  if (!header.version.empty()) known["version"] = header.version;
  return known;
}

OrderedJson run_json(const RunLog& run) {
  const RunHeader& header = run.header;
  return {{"unit", header.unit},
          {"prompt", header.prompt},
          {"floor", header.floor ? number(*header.floor, loss_digits) : OrderedJson()},
          {"layers", header.layers},
          {"heads", header.heads},
          {"even_entropy", number(header.even_entropy)},
          {"parts", header.parts},
          {"facts", facts(run)},
          {"curves",
           {{"loss", curve(run.steps, &StepRecord::loss, loss_digits)},
            {"lr", curve(run.steps, &StepRecord::lr, 5)}}},
          {"measured", measured(run.steps)},
          {"evaluations", evaluations(run.evaluations)},
          {"profile", profile(run.steps)}};
}

// Whether no token attends to a later one.
bool is_causal(const AttentionMaps& attention) {
  const std::size_t count = attention.tokens.size();
  for (const std::vector<float>& map : attention.maps) {
    for (std::size_t query = 0; query < count; ++query) {
      for (std::size_t key = query + 1; key < count; ++key) {
        if (map[query * count + key] != 0) return false;
      }
    }
  }
  return true;
}

// A weight as two characters of base64's alphabet, 12 bits, the upper six first: in 4000ths, or 4095 where it
// is not finite.
void append_weight(std::string& text, float weight) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto code = static_cast<std::size_t>(
      std::isfinite(weight) ? std::lround(4000 * std::clamp(weight, 0.0f, 1.0f)) : 4095);
  text += alphabet[code / 64];
  text += alphabet[code % 64];
}

// Maps row by row; of causal ones only the keys up to the query.
OrderedJson attention_json(const AttentionMaps& attention) {
  const std::size_t count = attention.tokens.size();
  for (const std::vector<float>& map : attention.maps) {
    if (map.size() == count * count) continue;
    fail<ShapeError>("render_report", "an attention map does not fit the tokens",
                     fmt::format("{} weights for {} tokens", map.size(), count),
                     fmt::format("{} weights", count * count));
  }
  const bool causal = is_causal(attention);
  OrderedJson maps = OrderedJson::array();
  for (const std::vector<float>& map : attention.maps) {
    std::string weights;
    for (std::size_t query = 0; query < count; ++query) {
      const std::size_t keys = causal ? query + 1 : count;
      for (std::size_t key = 0; key < keys; ++key) append_weight(weights, map[query * count + key]);
    }
    maps.push_back(std::move(weights));
  }
  return {{"tokens", attention.tokens},
          {"layers", attention.layers},
          {"heads", attention.heads},
          {"causal", causal},
          {"maps", maps}};
}

OrderedJson settings_that_apply(const OrderedJson& settings) {
  OrderedJson applied = OrderedJson::object();
  for (const auto& [name, value] : settings.items()) {
    const bool no_text = value.is_string() && value.get_ref<const std::string&>().empty();
    const bool no_list = value.is_array() && value.empty();
    if (!value.is_null() && !no_text && !no_list) applied[name] = value;
  }
  return applied;
}

OrderedJson page_data(const ReportData& data) {
  OrderedJson page = {{"title", data.title}, {"marks", OrderedJson::array()}};
  if (data.run) {
    page["run"] = run_json(*data.run);
    if (!data.run->evaluations.empty()) {
      page["result"] = fmt::format("{} nats per {} on the validation text",
                                   loss_sentence(data.run->evaluations.back().loss, data.run->header.floor),
                                   data.run->header.unit);
    }
  }
  if (data.attention) page["attention"] = attention_json(*data.attention);
  const std::int64_t heads = data.attention ? data.attention->heads : data.run ? data.run->header.heads : 0;
  for (const HeadMark& mark : data.marks) {
    page["marks"].push_back({mark.layer * heads + mark.head, mark.reason});
  }
  const OrderedJson settings = OrderedJson::parse(data.settings, nullptr, false);
  if (settings.is_object()) page["settings"] = settings_that_apply(settings);
  return page;
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
  // The JSON is pure ASCII and has no `<`, which could end the element that holds it.
  std::string json;
  for (const char c : page_data(data).dump(-1, ' ', true, OrderedJson::error_handler_t::replace)) {
    if (c == '<') {
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main><p>This page draws itself with a script, "
      "which is "
      "switched off.</p></main>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      escape_html(data.title), detail::report_style, json, detail::report_script);
}

void write_report(const std::string& path, const ReportData& data) {
  io::write_file(path, render_report(data));
}

}  // namespace heed::train::report
