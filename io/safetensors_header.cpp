#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <heed/io/file_elements.h>
#include <heed/io/read_file.h>
#include <heed/io/safetensors_header.h>

namespace heed::io {
namespace {

using Json = nlohmann::json;

constexpr int most_depth = 3;  // of nesting: header, tensor, shape

[[noreturn]] void problem(const std::string& text) { throw HeaderProblem(text); }

// The text is checked before it is parsed: the JSON library's own parser keeps the last of two equal names,
// and a parser callback that finds them takes time quadratic in the number of objects.
Json parse(std::string_view text) {
  const std::string fault = json_object_problem(text, most_depth);
  if (!fault.empty()) problem("its header " + fault);
  return Json::parse(text);
}

std::uint64_t natural_number(const Json& value, const std::string& what) {
  if (!value.is_number_unsigned()) problem(what + " holds what is no natural number");
  const auto number = value.get<std::uint64_t>();
  if (number > INT64_MAX) problem(what + " holds a number beyond 2^63 - 1");
  return number;
}

SafetensorsHeader::Item parse_item(const std::string& name, const Json& fields) {
  const std::string what = fmt::format("tensor '{}'", name);
  if (!fields.is_object() || fields.size() != 3 || !fields.contains("dtype") || !fields.contains("shape") ||
      !fields.contains("data_offsets")) {
    problem(what + " has not exactly dtype, shape and data_offsets");
  }
  const Json& dtype = fields["dtype"];
  const Json& shape = fields["shape"];
  const Json& offsets = fields["data_offsets"];
  if (!dtype.is_string() || detail::file_element_size(dtype.get<std::string>()) == 0) {
    problem(fmt::format("{} has the unknown dtype {}", what, dtype.dump().substr(0, 40)));
  }
  if (!shape.is_array()) problem(what + " has a shape that is no list");
  if (shape.size() > Shape::max_rank) problem(fmt::format("{} has more than {} axes", what, Shape::max_rank));
  if (!offsets.is_array() || offsets.size() != 2) problem(what + " has not two data_offsets");

  SafetensorsHeader::Item item{.name = name, .dtype = dtype.get<std::string>(), .shape = {}};
  std::uint64_t bytes = detail::file_element_size(item.dtype);
  for (const Json& size : shape) {
    const auto n = natural_number(size, what + " has a shape that");
    if (__builtin_mul_overflow(bytes, n, &bytes)) problem(what + " has a shape that overflows");
    item.shape.push_back(static_cast<std::int64_t>(n));
  }
  item.begin = natural_number(offsets[0], what + " has data_offsets that");
  item.end = natural_number(offsets[1], what + " has data_offsets that");
  if (item.begin > item.end) problem(what + " ends before it begins");
  if (item.end - item.begin != bytes) {
    problem(fmt::format("{} is {}{}, {} bytes, but its data_offsets span {}", what, item.dtype,
                        item.shape.str(), bytes, item.end - item.begin));
  }
  return item;
}

// The items are sorted by offset: each tensor must begin where the one before it ends, and the last one
// must end with the file.
void check_cover(const std::vector<SafetensorsHeader::Item>& items, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const auto& item : items) {
    if (item.begin != end) {
      problem(fmt::format("tensor '{}' begins at data byte {} {}", item.name, item.begin,
                          item.begin < end ? fmt::format("inside the tensor before it, which ends at {}", end)
                                           : fmt::format("and leaves a hole after byte {}", end)));
    }
    if (item.end > data_bytes) {
      problem(fmt::format("tensor '{}' ends at data byte {} of {}", item.name, item.end, data_bytes));
    }
    end = item.end;
  }
  if (end != data_bytes) problem(fmt::format("its tensors end at data byte {} of {}", end, data_bytes));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes) {
  const Json root = parse(json);
  SafetensorsHeader header;
  for (const auto& [name, value] : root.items()) {
    if (name != "__metadata__") {
      header.items.push_back(parse_item(name, value));
      continue;
    }
    if (!value.is_object()) problem("its __metadata__ is no JSON object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) problem(fmt::format("its __metadata__ '{}' is no text", key));
      header.metadata.emplace(key, text.get<std::string>());
    }
  }
  std::sort(header.items.begin(), header.items.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_cover(header.items, data_bytes);
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  for (const auto& item : header.items) {
    root[item.name] = {{"dtype", item.dtype},
                       {"shape", std::vector<std::int64_t>(item.shape.begin(), item.shape.end())},
                       {"data_offsets", {item.begin, item.end}}};
  }
  try {
    std::string text = root.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const nlohmann::json::exception&) {
    problem("a name or a metadata text is not UTF-8");
  }
}

}  // namespace heed::io
