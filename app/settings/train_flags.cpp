#include <string_view>
#include <type_traits>

#include <CLI/CLI.hpp>

#include <heed/app/settings/train_fields.h>
#include <heed/app/settings/train_flags.h>
#include <heed/optim/recipe.h>

namespace heed::app {

void add_setting_flags(CLI::App& parser, TrainOptions& o, bool whole_run) {
  parser.add_option("--config", o.config,
                    "JSON file of the settings below, keys as the flags with _ for -; flags win");
  each_field(o, [&]<class T>(const char* flag, T& member, const char* group, const char* help) {
    if (group == std::string_view(run_group) && !whole_run) return;
    if constexpr (std::is_same_v<T, bool>) {
      parser.add_flag(flag, member, help)->group(group);
    } else {
      parser.add_option(flag, member, help)->capture_default_str()->group(group);
    }
  });
  if (whole_run) parser.get_option("--preset")->check(CLI::IsMember({"nano"}));
  parser.get_option("--optimizer")->check(CLI::IsMember(heed::optim::optimizer_names()));
  parser.get_option("--schedule")->check(CLI::IsMember(heed::optim::schedule_names()));
}

}  // namespace heed::app
