// The callbacks at the end of an epoch: early stopping, falling learning rates, the best model.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/keras/loss_graph.h"
#include "attn/train/callbacks.h"
#include "attn/train/fit.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// A callback before its direction is resolved.
template <typename Callback>
struct UnresolvedCallback {
  Callback callback;
  std::string mode = "auto";
};

/// The values that a training has for each epoch.
struct MonitoredValues {
  std::vector<std::string> names;   ///< "loss", "val_loss", …
  std::vector<std::string> lists;   ///< names of values with several numbers, which cannot be monitored
  std::vector<std::string> rising;  ///< names of values for which more is better
  std::string usual;  ///< name of the default value: "val_loss" if there is validation data, otherwise "loss"
};
[[nodiscard]] MonitoredValues monitored_values(const keras::LossGraph& model, bool validates);

/// Sets the default name of the monitor and its direction. Throws Error (usage) for an unknown name.
void resolve(Monitor& monitor, const std::string& mode, const MonitoredValues& known);

struct EpochVerdict {
  Logs logs;                            ///< Keras's logs of the epoch
  std::string message;                  ///< a line to print, or ""
  std::optional<double> learning_rate;  ///< the learning rate from the next step on, if it changes
  bool is_best = false;                 ///< the model is the best so far and has to be saved
  bool stops = false;
};

/// Early stopping, falling learning rates, and the best model, with their counts.
class EpochCallbacks {
 public:
  /// Takes the counts of a resumed training. Throws Error (usage) for a value that the training lacks.
  EpochCallbacks(const std::optional<UnresolvedCallback<EarlyStopping>>& early_stopping,
                 const std::optional<UnresolvedCallback<ReduceLROnPlateau>>& reduce_lr, bool saves_best,
                 const MonitoredValues& known, const State& state);

  /// Counts the epoch, and changes the learning rate; an exception leaves all counts unchanged.
  EpochVerdict end_of_epoch(const EpochEvent& event, Trainer& trainer);
  /// Stores the counts for an archive.
  void keep(State& state) const;
  [[nodiscard]] bool keeps_best_weights() const { return early_stopping_ && early_stopping_->restore_best_weights; }
  /// Restores the best weights if early stopping has the option.
  void restore_best_weights(Trainer& trainer) const;

 private:
  EpochVerdict judge(const EpochEvent& event, Trainer& trainer);

  std::optional<EarlyStopping> early_stopping_;
  std::optional<ReduceLROnPlateau> reduce_lr_;
  std::optional<Monitor> saved_;
  std::optional<double> saved_best_;
  std::vector<Tensor> best_weights_;
};

}  // namespace attn::train
