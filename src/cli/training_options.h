// The options of `attn train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/train/fit.h"
#include "attn/train/trainer.h"
#include "common.h"
#include "forward.h"
#include "ranks.h"
#include "shared_options.h"
#include "training_log.h"
#include "training_model.h"

namespace attn::cli {

struct TrainingOptions {
  Common common;
  Execution execution;
  std::optional<std::string> model, validation, target, dump, svg, class_weight, early_stopping, reduce_lr, save_best,
      time_limit, save_every, lora, policy;
  CompileChanges changes;
  LogTargets logs;
  std::vector<std::string> data, frozen, trained, lora_layers;
  std::optional<double> validation_split;
  std::int64_t epochs = 1, batch_size = 32;
  std::optional<std::int64_t> steps;
  bool no_shuffle = false, drop_remainder = false, resume = false, no_dropout = false, no_loss_scale = false;
  bool recomputes = false;
  bool deterministic = false;  ///< every number of ranks gives the same bits
  train::TableGradient tables = train::TableGradient::entries;
  RanksOptions ranks;
  DType reduce_dtype = DType::float32;
  std::int64_t zero = 0;  ///< 1: ranks share the optimizer

  void declare(Options& options);
  [[nodiscard]] bool validates() const { return validation || validation_split; }
  /// What they say of the length, once they agree with each other. Throws Error (usage).
  [[nodiscard]] train::FitOptions check() const;
  [[nodiscard]] LogTargets log_targets() const;
  /// Those of a rank that only computes: it tells nothing and writes nothing.
  [[nodiscard]] TrainingOptions silent() const;
  /// All that decides which numbers come out, for ranks to compare.
  [[nodiscard]] std::string decisive() const;
};

}  // namespace attn::cli
