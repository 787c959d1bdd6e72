#include "attn/train/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace attn::train {

Plan plan_of(Trainer& trainer, const Batch& sample, std::int64_t rows, const FitOptions& options,
             const Position& position, std::int64_t bytes) {
  Plan out;
  out.bytes = bytes;
  out.steps_per_epoch = epoch_range_of(position.epoch, rows, options).batches;
  out.steps = std::max<std::int64_t>(0, options.steps_in_all(rows) - position.step);
  constexpr int kTried = 3;  // number of timed steps after the first, which is slower
  for (int i = 0; i <= kTried; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    (void)trainer.step(sample);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (i > 0) out.seconds_per_step += seconds / kTried;
  }
  return out;
}

bool has_learned(std::span<const Point> points, FitEnd end) {
  if (points.empty() || end == FitEnd::not_finite) return false;
  const double first = points.front().loss, last = points.back().loss;
  return last < first && last <= first / 10.0;
}

std::string why_not_learned(std::span<const Point> points) {
  if (points.empty()) return "no step was tried";
  return fmt::format(
      "the loss of the first batch was {:.4g} and is {:.4g} in step {}: it has not fallen to a tenth; try more steps, "
      "another `learning_rate` or `no_dropout`",
      points.front().loss, points.back().loss, points.size());
}

}  // namespace attn::train
