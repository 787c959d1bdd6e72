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
  std::int64_t shuffled_block = 0;   ///< 0: rows are shuffled separately
  bool plans = false;                ///< report the cost of the training, without training
  std::optional<double> rtol, atol;  ///< of expected_losses
  bool no_shuffle = false, drop_remainder = false, resume = false, no_dropout = false;
  bool recomputes = false;
  bool deterministic = false;  ///< every number of ranks gives the same bits
  train::TableGradient tables = train::TableGradient::entries;
  RanksOptions ranks;
  DType reduce_dtype = DType::float32;
  std::int64_t zero = 0;  ///< 1: ranks split the optimizer

  void declare(Options& options);
  [[nodiscard]] bool validates() const { return (validation || validation_split) && !overfit; }
  /// Does the training write a model? --overfit and --plan do not.
  [[nodiscard]] bool saves() const { return !overfit && !plans; }
  /// Returns the length of the training after checking that the options are compatible. Throws Error (usage).
  [[nodiscard]] train::FitOptions check() const;
  /// Throws Error (usage) if a resumed training would get another order of rows.
  void check_resumed(const train::State& state) const;
  [[nodiscard]] LogTargets log_targets() const;
  /// Returns the options of a rank that only computes: it prints nothing and writes nothing.
  [[nodiscard]] TrainingOptions silent() const;
  /// Returns all options that change the numbers, for ranks to compare.
  [[nodiscard]] std::string decisive() const;
};

}  // namespace attn::cli
