// What is found out of a training by trying it.
#pragma once

#include <cstdint>
#include <string>

#include "attn/report/training.h"
#include "attn/train/fit.h"
#include "attn/train/trainer.h"

namespace attn::cli {

/// What a training takes from `position` on. Does a few steps on `sample` for the time of one, so that the trainer is
/// of no use afterwards; `bytes` were asked of it before.
[[nodiscard]] report::TrainingReport::Plan plan_of(train::Trainer& trainer, const train::Batch& sample,
                                                   std::int64_t rows, const train::FitOptions& options,
                                                   const train::Position& position, std::int64_t bytes);

/// Of steps on one batch: has its loss fallen to a tenth?
[[nodiscard]] bool has_learned(const report::TrainingReport& report);
/// For people, where it has not.
[[nodiscard]] std::string why_not_learned(const report::TrainingReport& report);

}  // namespace attn::cli
