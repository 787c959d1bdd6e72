// The request for a training: its model, data and settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/train/compile_changes.h"
#include "attn/train/data_files.h"
#include "attn/train/epoch_callbacks.h"
#include "attn/train/fit.h"
#include "attn/train/low_rank.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// The model, the data and the settings of a training.
struct Setup {
  open::Execution execution;
  std::optional<std::string> model;     ///< file or folder of the model; empty: the built-in encoder
  std::optional<open::ModelText> text;  ///< a config that was read, in place of `model`
  DataFiles files;
  std::optional<std::string> validation;  ///< file of the validation data
  std::optional<double> validation_split;
  std::optional<std::string> class_weight;  ///< weights by class, as JSON
  CompileChanges changes;
  std::optional<UnresolvedCallback<EarlyStopping>> early_stopping;
  std::optional<UnresolvedCallback<ReduceLROnPlateau>> reduce_lr;
  std::vector<std::string> frozen, trained;  ///< patterns of layers
  std::optional<LowRank> lora;
  std::vector<std::string> lora_layers;  ///< patterns of layers; empty: all layers
  std::optional<std::string> policy;     ///< Keras's dtype policy of all layers, in place of their own
  std::int64_t epochs = 1, batch_size = 32;
  std::optional<std::int64_t> steps, steps_per_epoch;
  std::optional<std::chrono::steady_clock::time_point>
      deadline;                         ///< the training ends after the step in which this time passes
  std::optional<std::int64_t> overfit;  ///< train this number of steps on the first batch only
  std::int64_t shuffled_block = 0;      ///< 0: rows are shuffled one by one
  bool no_shuffle = false, drop_remainder = false, no_dropout = false;
  bool resume = false;         ///< continue the training of the model
  bool recomputes = false;     ///< recompute activations in the backward pass
  bool deterministic = false;  ///< give the same bits for every number of ranks
  TableGradient tables = TableGradient::entries;
  DType reduce_dtype = DType::float32;
  std::int64_t zero = 0;    ///< 1: each rank holds a part of the optimizer state
  bool saves_best = false;  ///< judge which epoch's model is the best

  [[nodiscard]] bool validates() const { return (validation || validation_split) && !overfit; }
  /// Returns the options that set the length of the training and the order of its rows.
  [[nodiscard]] FitOptions fit_options() const;
  /// Throws Error (usage) if the resumed training would have another order of rows.
  void check_resumed(const State& state) const;
  /// Throws Error (usage) for a count that a stored training could not keep.
  void check_counts() const;
};

}  // namespace attn::train
