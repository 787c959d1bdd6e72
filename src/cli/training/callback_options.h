// Keras's callbacks as option values: "patience=3,monitor=val_accuracy".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/train/callbacks.h"
#include "attn/train/epoch_callbacks.h"

namespace attn::cli {

/// Parses the arguments of Keras's EarlyStopping. Throws Error (usage) for an unknown argument or an invalid value.
[[nodiscard]] train::UnresolvedCallback<train::EarlyStopping> early_stopping_of(const std::string& text);
/// Parses the arguments of Keras's ReduceLROnPlateau. Throws Error (usage) for an unknown argument or an invalid value.
[[nodiscard]] train::UnresolvedCallback<train::ReduceLROnPlateau> reduce_lr_of(const std::string& text);

/// The interval of checkpoints; 0: never.
struct SaveEvery {
  std::int64_t epochs = 0, steps = 0;
};
/// Parses "3", "3epochs", "100steps". Throws Error (usage).
[[nodiscard]] SaveEvery save_every_of(const std::optional<std::string>& text);

/// Returns the seconds of "90", "45s", "30m", "1h30m". Throws Error (usage).
[[nodiscard]] double time_span(const std::string& text);

}  // namespace attn::cli
