#include "case.h"

#include <charconv>

#include <heed/core/error.h>

namespace heed::conformance {
namespace {

using nlohmann::json;

class Metadata {
 public:
  Metadata(std::filesystem::path path, const std::map<std::string, std::string>& values)
      : path_(std::move(path)), values_(values) {}

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::string() : found->second;
  }
  std::string required(const std::string& key) const {
    std::string value = text(key);
    if (value.empty()) refuse("no metadata '" + key + "'");
    return value;
  }
  json parsed(const std::string& key, json fallback) const {
    const std::string value = text(key);
    return value.empty() ? std::move(fallback) : json::parse(value);
  }
  [[noreturn]] void refuse(const std::string& problem) const {
    fail<IoError>("conformance", problem, path_.string(), "a file of format case/1");
  }

 private:
  std::filesystem::path path_;
  const std::map<std::string, std::string>& values_;
};

std::vector<std::string> names(const json& list) {
  std::vector<std::string> result;
  for (const json& entry : list) result.push_back(entry.is_null() ? "" : entry.get<std::string>());
  return result;
}

Node parse_node(const json& node) {
  return {node.at("op"),
          node.value("domain", ""),
          node.value("opset", std::int64_t{0}),
          names(node.at("inputs")),
          names(node.at("outputs")),
          node.at("attributes")};
}

std::int64_t parse_opset(const Metadata& metadata) {
  const std::string text = metadata.text("opset");
  std::int64_t opset = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), opset);
  if (error != std::errc() && !text.empty()) metadata.refuse("opset is no number");
  return opset;
}

void fill(Case& result, const Metadata& metadata) {
  if (metadata.text("format") != "case/1") metadata.refuse("not a conformance case");
  result.name = metadata.required("name");
  result.suite = metadata.required("suite");
  result.inputs = names(metadata.parsed("inputs", json::array()));
  result.outputs = names(metadata.parsed("outputs", json::array()));
  result.cotangents = names(metadata.parsed("cotangents", json::array()));
  result.gradients = names(metadata.parsed("gradients", json::array()));
  result.second = !metadata.text("second").empty();
  result.random = metadata.text("random") == "yes";
  const json tolerance = metadata.parsed("tolerance", json::object());
  result.bound = {tolerance.at("rtol"), tolerance.at("atol")};
  for (const json& node : metadata.parsed("nodes", json::array())) result.nodes.push_back(parse_node(node));
  if (result.nodes.empty()) {
    result.nodes.push_back({metadata.required("op"), metadata.text("domain"), parse_opset(metadata),
                            result.inputs, result.outputs, metadata.parsed("attributes", json::object())});
  }
}

}  // namespace

Case load_case(const std::filesystem::path& path) {
  Case result{.name = {},
              .suite = {},
              .nodes = {},
              .inputs = {},
              .outputs = {},
              .cotangents = {},
              .gradients = {},
              .second = false,
              .random = false,
              .bound = {},
              .file = io::SafetensorsFile(path)};
  const Metadata metadata(path, result.file.metadata());
  try {
    fill(result, metadata);
  } catch (const json::exception& error) {
    metadata.refuse(error.what());
  }
  return result;
}

}  // namespace heed::conformance
