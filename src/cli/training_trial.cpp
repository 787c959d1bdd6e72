#include "training_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace attn::cli {

report::TrainingReport::Plan plan_of(train::Trainer& trainer, const train::Batch& sample, std::int64_t rows,
                                     const train::FitOptions& options, const train::Position& position,
                                     std::int64_t bytes) {
  report::TrainingReport::Plan out;
  out.bytes = bytes;
  out.steps_per_epoch = train::stretch_of(position.epoch, rows, options).batches;
  out.steps = std::max<std::int64_t>(0, options.steps_in_all(rows) - position.step);
  constexpr int kTried = 3;  // behind the first, which is slower
  for (int i = 0; i <= kTried; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    (void)trainer.step(sample);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (i > 0) out.seconds_per_step += seconds / kTried;
  }
  return out;
}

bool has_learned(const report::TrainingReport& report) {
  if (report.points.empty() || report.end == "not finite") return false;
  const double first = report.points.front().loss, last = report.points.back().loss;
  return last < first && last <= first / 10.0;
}

std::string why_not_learned(const report::TrainingReport& report) {
  if (report.points.empty()) return "no step was tried";
  return fmt::format(
      "the loss of the first batch was {:.4g} and is {:.4g} in step {}: it has not fallen to a tenth; more steps, "
      "another --learning-rate or --no-dropout may do",
      report.points.front().loss, report.points.back().loss, report.points.size());
}

}  // namespace attn::cli
