// What happens at the end of an epoch of `attn train`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/callback_options.h"
#include "attn/train/callbacks.h"
#include "attn/train/fit.h"
#include "training_archive.h"

namespace attn::cli {

struct EpochVerdict {
  std::vector<std::pair<std::string, double>> logs;  ///< Keras's of the epoch
  std::string message;                               ///< a line for people, or ""
  std::optional<double> learning_rate;               ///< from the next step on, where it changes
  bool is_best = false;                              ///< the best model so far is to be saved
  bool stops = false;
};

/// Early stopping, falling learning rates, and the best model, with what they have counted.
class TrainingCallbacks {
 public:
  /// Texts of options. The counts are those of a training that goes on. Throws Error (usage).
  TrainingCallbacks(const std::optional<std::string>& early_stopping, const std::optional<std::string>& reduce_lr,
                    const std::optional<std::string>& save_best, const Watchable& known, const TrainingState& state);

  /// Moves the learning rate, too; counts all or, where it throws, nothing.
  EpochVerdict end_of_epoch(const train::EpochEvent& event, train::Trainer& trainer);
  /// The counts, for an archive.
  void keep(TrainingState& state) const;
  [[nodiscard]] bool keeps_best_weights() const { return early_stopping_ && early_stopping_->restore_best_weights; }
  /// Where early stopping is to.
  void restore_best_weights(train::Trainer& trainer) const;

 private:
  EpochVerdict judge(const train::EpochEvent& event, train::Trainer& trainer);

  std::optional<train::EarlyStopping> early_stopping_;
  std::optional<train::ReduceLROnPlateau> reduce_lr_;
  std::optional<train::Monitor> saved_;
  std::optional<double> saved_best_;
  std::vector<Tensor> best_weights_;
};

/// How often a checkpoint is written; 0: not.
struct SaveEvery {
  std::int64_t epochs = 0, steps = 0;
};
/// "3", "3epochs", "100steps". Throws Error (usage).
[[nodiscard]] SaveEvery save_every_of(const std::optional<std::string>& text);

}  // namespace attn::cli
