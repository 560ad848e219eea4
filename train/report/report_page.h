#pragma once

#include <string_view>

namespace heed::train::report::detail {

/// The files of train/report/page/, compiled in as strings.
extern const std::string_view report_style;
extern const std::string_view report_script;

}  // namespace heed::train::report::detail
