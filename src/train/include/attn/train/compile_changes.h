// Changes of a compile_config: what a model is trained with instead of what it was compiled with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/keras/model.h"

namespace attn::train {

/// What the loss is multiplied by, so that gradients do not vanish below float16's range.
struct LossScaling {
  enum class Kind : std::uint8_t { none, fixed, dynamic } kind = Kind::none;
  double factor = 1.0;  ///< of fixed

  friend bool operator==(const LossScaling&, const LossScaling&) = default;
};
/// "none", "dynamic", or a number above 0. Throws Error (usage).
[[nodiscard]] LossScaling loss_scaling_of(const std::string& text);
/// As loss_scaling_of reads it.
[[nodiscard]] std::string text_of(const LossScaling& scaling);

/// What options change of a compile_config.
struct CompileChanges {
  std::optional<std::string> file;  ///< of another compile_config, in place of the model's
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

  /// Do they have the learning rate move from step to step?
  [[nodiscard]] bool schedule() const { return moves_rate() || (learning_rate && !constant_rate()); }
  /// By steps of this training: up, down, or both.
  [[nodiscard]] bool moves_rate() const { return warmup_steps || (decay && *decay != "none"); }
  /// Where it is a number. Throws Error (usage) where it is neither that nor JSON.
  [[nodiscard]] std::optional<double> constant_rate() const;
};

/// Do they change more than the loss and the metrics?
[[nodiscard]] bool change_optimizer(const CompileChanges& changes);
/// Those of the loss and the metrics.
[[nodiscard]] CompileChanges without_optimizer(CompileChanges changes);
/// "`optimizer`, `learning_rate`": the options that change the optimizer.
[[nodiscard]] std::string optimizer_options(const CompileChanges& changes);

/// Was the model compiled with the optimizer that the changes ask for, over so many steps? Throws Error as
/// compile_config and with_schedule do.
[[nodiscard]] bool has_optimizer(const keras::Model& model, const CompileChanges& changes, std::int64_t steps);

/// The model's own compile_config with the changes, as JSON. Throws Error (bad_input) where it has none and no loss is
/// given, and where functions or classes are left in it that are the user's own.
[[nodiscard]] std::string compile_config(const keras::Model& model, const CompileChanges& changes);

/// The compile_config with the schedule of Keras's in place of the learning rate that `changes` ask for, over so many
/// steps: from 0 up to the rate in warmup_steps, and down to 0 until the last by a cosine or, where nothing is before
/// it, a line. Throws Error (usage) where Keras has none such, the steps are too few, or the rate is a schedule
/// already.
[[nodiscard]] std::string with_schedule(const std::string& compile_config, const CompileChanges& changes,
                                        std::int64_t steps);

/// The class of its optimizer, "RMSprop".
[[nodiscard]] std::string optimizer_title(const std::string& compile_config);

}  // namespace attn::train
