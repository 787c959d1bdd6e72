// Keras's callbacks at the end of an epoch, with their names and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attn::train {

/// The value that a callback monitors (keras/src/callbacks/monitor_callback.py).
struct Monitor {
  std::string monitor;     ///< name of the value: "val_loss"
  bool up = false;         ///< whether a larger value is better
  double min_delta = 0.0;  ///< smaller changes do not count

  /// Returns whether `now` is better than `before`. The first value always is.
  [[nodiscard]] bool improves(double now, const std::optional<double>& before) const;
};

/// keras/src/callbacks/early_stopping.py
struct EarlyStopping {
  Monitor watched;
  std::int64_t patience = 0;
  std::optional<double> baseline;
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;

  std::int64_t wait = 0;  ///< number of epochs without improvement
  std::optional<double> best;
  std::int64_t best_epoch = 0;  ///< counted from 0

  /// `improved`: the weights are the best so far.
  enum class Verdict : std::uint8_t { goes_on, improved, stops };
  /// `epoch` counts from 0.
  Verdict end_of_epoch(std::int64_t epoch, double value);
};

/// keras/src/callbacks/reduce_lr_on_plateau.py
struct ReduceLROnPlateau {
  Monitor watched{.monitor = {}, .min_delta = 1e-4};
  double factor = 0.1, min_lr = 0.0;
  std::int64_t patience = 10, cooldown = 0;

  std::int64_t wait = 0, cooldown_counter = 0;
  std::optional<double> best;

  /// Returns the new learning rate if it is reduced, otherwise empty.
  std::optional<double> end_of_epoch(double value, double learning_rate);
};

}  // namespace attn::train
