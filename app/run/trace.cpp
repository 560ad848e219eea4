#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <heed/app/run/trace.h>
#include <heed/io/read_file.h>

namespace heed::app {

void take_steps(TrainingRun& run, std::int64_t end, std::vector<train::StepTrace>& steps) {
  train::StepTracer tracer;
  const StepWatch watch = {.begin = {}, .gradients_are_there = [&] { tracer.add_gradients(run.parameters); }};
  while (run.step < end) {
    tracer.add("loss", run.train_step(watch).loss);
    tracer.add_parameters(run.parameters);
    steps.push_back(tracer.take());
  }
}

std::string hash_of(std::span<const train::StepTrace> steps) {
  heed::io::Checksum checksum;
  for (const train::StepTrace& step : steps) {
    const bool last = &step == &steps.back();
    for (const train::TracedValue& value : step) {
      const std::string_view what = value.what;
      if (what != "loss" && !(last && (what.starts_with("gradient of ") || what.starts_with("parameter "))))
        continue;
      char bytes[sizeof value.checksum];
      std::memcpy(bytes, &value.checksum, sizeof bytes);
      checksum.add({bytes, sizeof bytes});
    }
  }
  return fmt::format("{:016x}", checksum.value());
}

}  // namespace heed::app
