// The options of `attn train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments/shared_options.h"
#include "attn/open/execution.h"
#include "attn/train/compile_changes.h"
#include "attn/train/fit.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"
#include "output/common.h"
#include "ranks/ranks.h"
#include "training/files.h"
#include "training/log.h"

namespace attn::cli {

struct TrainingOptions {
  Common common;
  open::Execution execution;
  std::optional<std::string> model, validation, target, dump, svg, class_weight, early_stopping, reduce_lr, save_best,
      time_limit, save_every, lora, lora_output, policy, expected_losses;
  TrainingFiles files;
  train::CompileChanges changes;
  LogTargets logs;
  std::vector<std::string> frozen, trained, lora_layers;
  std::optional<double> validation_split;
  std::int64_t epochs = 1, batch_size = 32;
  std::optional<std::int64_t> steps, steps_per_epoch, keep, overfit;
  std::int64_t shuffled_block = 0;   ///< 0: rows are shuffled one by one
  bool plans = false;                ///< tell what the training takes, and end before it
  std::optional<double> rtol, atol;  ///< of expected_losses
  bool no_shuffle = false, drop_remainder = false, resume = false, no_dropout = false;
  bool recomputes = false;
  bool deterministic = false;  ///< every number of ranks gives the same bits
  train::TableGradient tables = train::TableGradient::entries;
  RanksOptions ranks;
  DType reduce_dtype = DType::float32;
  std::int64_t zero = 0;  ///< 1: ranks share the optimizer

  void declare(Options& options);
  [[nodiscard]] bool validates() const { return (validation || validation_split) && !overfit; }
  /// Does the training end with a file? What is only tried does not.
  [[nodiscard]] bool saves() const { return !overfit && !plans; }
  /// What they say of the length, once they agree with each other. Throws Error (usage).
  [[nodiscard]] train::FitOptions check() const;
  /// Throws Error (usage) where they would go on with another order of rows than the training has.
  void check_resumed(const train::State& state) const;
  [[nodiscard]] LogTargets log_targets() const;
  /// Those of a rank that only computes: it tells nothing and writes nothing.
  [[nodiscard]] TrainingOptions silent() const;
  /// All that decides which numbers come out, for ranks to compare.
  [[nodiscard]] std::string decisive() const;
};

}  // namespace attn::cli
