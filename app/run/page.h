#pragma once

#include <filesystem>
#include <string>

namespace heed::app {

/// Writes report.html, the page of a run's folder: its log, its settings and, where there is a model, where
/// its heads look in `text`; if that is empty, in a text that the model writes.
/// Throws    IoError, and ValueError (the text has tokens the model does not know).
void write_page(const std::filesystem::path& folder, const std::string& text = {});

}  // namespace heed::app
