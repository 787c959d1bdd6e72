// Keras's callbacks as options tell them: "patience=3,monitor=val_accuracy".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/loss_graph.h"
#include "attn/train/callbacks.h"

namespace attn::cli {

/// A callback whose direction is yet to be found.
template <typename Callback>
struct Told {
  Callback callback;
  std::string mode = "auto";
};

/// Both throw Error (usage) for an argument that Keras's callback of the name does not have, or a value that it does
/// not take.
[[nodiscard]] Told<train::EarlyStopping> early_stopping_of(const std::string& text);
[[nodiscard]] Told<train::ReduceLROnPlateau> reduce_lr_of(const std::string& text);

/// What a training tells of each epoch.
struct Watchable {
  std::vector<std::string> names;   ///< "loss", "val_loss", …
  std::vector<std::string> rising;  ///< those of which more is better
  std::string usual;                ///< the loss of the validation data, where there is some
};
[[nodiscard]] Watchable watchable(const keras::LossGraph& model, bool validates);

/// Gives the monitor a name, where it has none, and its direction. Throws Error (usage) for a name that nothing has.
void resolve(train::Monitor& monitor, const std::string& mode, const Watchable& known);

/// Seconds of "90", "45s", "30m", "1h30m". Throws Error (usage).
[[nodiscard]] double time_span(const std::string& text);

}  // namespace attn::cli
