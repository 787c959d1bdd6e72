// Expected losses of a training.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/train/fit.h"

namespace attn::train {

/// Losses by step, and by epoch from 1.
struct ExpectedLosses {
  std::map<std::int64_t, double> steps, epochs;
};

/// Reads the lines of `attn train --log`, or a file of Keras's CSVLogger, which only has epochs. Throws Error
/// (bad_input).
[[nodiscard]] ExpectedLosses read_expected_losses(const std::string& path);

/// The losses of the training.
struct ActualLosses {
  std::span<const Point> points;
  std::vector<double> epochs;  ///< losses by epoch; the last one belongs to `last_epoch`
  std::int64_t last_epoch = 0;
};

/// Describes the first loss that differs and counts the others; nothing if all agree. Losses of steps and epochs that
/// only one side has are ignored; throws Error (bad_input) if they have none in common.
[[nodiscard]] std::optional<std::string> differing_losses(const ExpectedLosses& expected, const ActualLosses& had,
                                                          double rtol, double atol, const std::string& path);

}  // namespace attn::train
