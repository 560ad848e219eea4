#pragma once

#include <string_view>

namespace heed::train::report::detail {

/// What lies in train/page/, put in at build time.
extern const std::string_view report_style;
extern const std::string_view report_script;

}  // namespace heed::train::report::detail
