// Trying a training: the cost of its steps, and whether the model can learn a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "attn/train/fit.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// The costs of a training.
struct Plan {
  std::int64_t bytes = 0, steps_per_epoch = 0, steps = 0;
  double seconds_per_step = 0;
};

/// Returns the number of steps from `position` on, the time of one and the memory, `bytes`. Runs a few steps on
/// `sample` to time them. They change the weights, so the trainer must not be used afterwards.
[[nodiscard]] Plan plan_of(Trainer& trainer, const Batch& sample, std::int64_t rows, const FitOptions& options,
                           const Position& position, std::int64_t bytes);

/// Returns whether the loss of steps on one batch has fallen to a tenth.
[[nodiscard]] bool has_learned(std::span<const Point> points, FitEnd end);
/// Returns the reason to report if has_learned() is false.
[[nodiscard]] std::string why_not_learned(std::span<const Point> points);

}  // namespace attn::train
