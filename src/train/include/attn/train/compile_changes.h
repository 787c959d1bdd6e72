// Changes of a compile_config by options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/keras/model.h"
#include "attn/train/loss_scaling.h"

namespace attn::train {

/// The options that change a compile_config.
struct CompileChanges {
  std::optional<std::string> file;    ///< another compile_config instead of the model's
  std::optional<std::string> config;  ///< another compile_config instead of the model's, as JSON
  std::optional<std::string> loss, optimizer;
  std::optional<std::string> learning_rate;  ///< a number, or JSON of a schedule
  std::optional<LossScaling> loss_scale;
  std::optional<double> weight_decay, clipnorm, global_clipnorm, clipvalue, ema, label_smoothing;
  std::optional<std::int64_t> accumulate;
  bool from_logits = false;
  std::optional<std::string> metrics;       ///< names, or JSON; "none"
  std::optional<std::string> loss_weights;  ///< numbers, or JSON
  std::optional<std::int64_t> warmup_steps;
  std::optional<std::string> decay;  ///< "cosine", "linear" or "none"

  /// Returns whether the learning rate changes from step to step.
  [[nodiscard]] bool schedule() const { return moves_rate() || (learning_rate && !constant_rate()); }
  /// Returns whether the learning rate follows a schedule over the steps of this training: up, down, or both.
  [[nodiscard]] bool moves_rate() const { return warmup_steps || (decay && *decay != "none"); }
  /// Returns the rate if it is a number. Throws Error (usage) if it is neither a number nor JSON.
  [[nodiscard]] std::optional<double> constant_rate() const;

  friend bool operator==(const CompileChanges&, const CompileChanges&) = default;
};

/// Returns whether the options change more than the loss and the metrics.
[[nodiscard]] bool change_optimizer(const CompileChanges& changes);
/// Returns only the changes of the loss and the metrics.
[[nodiscard]] CompileChanges without_optimizer(CompileChanges changes);
/// Returns the options that change the optimizer: "`optimizer`, `learning_rate`".
[[nodiscard]] std::string optimizer_options(const CompileChanges& changes);

/// Returns whether the model was compiled with the optimizer of the changes, for this many steps. Throws Error as
/// compile_config and with_schedule do.
[[nodiscard]] bool has_optimizer(const keras::Model& model, const CompileChanges& changes, std::int64_t steps);

/// Returns the model's own compile_config with the changes, as JSON. Throws Error (bad_input) if it has none and no
/// loss is given, and if custom functions or classes remain in it.
[[nodiscard]] std::string compile_config(const keras::Model& model, const CompileChanges& changes);

/// Returns the compile_config with a schedule of Keras for the learning rate of `changes`, over this many steps. The
/// rate rises from 0 in warmup_steps, and falls to 0 until the last step by a cosine or, without warmup, a line. Throws
/// Error (usage) if Keras has no such schedule, the steps are too few, or the rate is already a schedule.
[[nodiscard]] std::string with_schedule(const std::string& compile_config, const CompileChanges& changes,
                                        std::int64_t steps);

/// Returns the class of the optimizer, "RMSprop".
[[nodiscard]] std::string optimizer_title(const std::string& compile_config);

}  // namespace attn::train
