#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <heed/core/shape.h>

namespace heed::io {

/// What is wrong with a header. The reader of the file adds its name to the message.
struct HeaderProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The part of a safetensors file that describes its tensors.
struct SafetensorsHeader {
  struct Item {
    std::string name;
    std::string dtype;
    Shape shape;
    std::uint64_t begin = 0;  // in bytes from the end of the header
    std::uint64_t end = 0;
  };
  std::map<std::string, std::string> metadata;
  std::vector<Item> items;  // in the order of their data
};

/// Reads the JSON of a header whose data take `data_bytes` bytes, and checks all of it.
/// Throws    HeaderProblem.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes);

/// The JSON of a header, padded with spaces to a multiple of 8 bytes.
/// Throws    HeaderProblem when a text is not UTF-8.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace heed::io
