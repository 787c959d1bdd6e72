// The options of `attn train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/train/job.h"
#include "output/common.h"
#include "ranks/ranks.h"
#include "training/log.h"

namespace attn::cli {

/// Declares the options of inputs, targets and sample weights.
void declare_data(Options& options, train::DataFiles& files);
/// Declares --loss and --loss-weights.
void declare_loss(Options& options, train::CompileChanges& changes);
/// Declares --metrics and --compile.
void declare_metrics(Options& options, train::CompileChanges& changes);

struct TrainingOptions {
  train::Setup setup;
  Common common;
  std::optional<std::string> target, dump, svg, save_best, time_limit, save_every, lora_output, expected_losses;
  LogTargets logs;
  std::optional<std::int64_t> keep;
  std::optional<double> rtol, atol;  ///< tolerances of expected_losses
  bool plans = false;                ///< report the cost of the training, without training
  RanksOptions ranks;

  void declare(Options& options);
  /// Returns whether the training writes a model; with --overfit and --plan it does not.
  [[nodiscard]] bool saves() const { return !setup.overfit && !plans; }
  /// Throws Error (usage) for incompatible options.
  void check() const;
  [[nodiscard]] LogTargets log_targets() const;
  /// Returns whether an output other than the report goes to stdout.
  [[nodiscard]] bool takes_stdout() const;
  /// Returns the options of a rank that only computes: it prints nothing and writes nothing.
  [[nodiscard]] TrainingOptions silent() const;
  /// Returns all options that change the results, as text. Ranks compare it.
  [[nodiscard]] std::string decisive() const;

 private:
  std::string early_stopping_text_, reduce_lr_text_;
};

}  // namespace attn::cli
