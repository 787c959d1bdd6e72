// Losses that a training is to have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "attn/train/fit.h"

namespace attn::train {

/// By step, or by epoch from 1.
struct ExpectedLosses {
  std::map<std::int64_t, double> steps, epochs;
};

/// From the lines of `attn train --log`, or a file of Keras's CSVLogger, which has epochs alone. Throws Error
/// (bad_input).
[[nodiscard]] ExpectedLosses read_expected_losses(const std::string& path);

/// The losses that a training had.
struct HadLosses {
  std::span<const Point> points;
  std::span<const double> epochs;  ///< the last of them is that of `last_epoch`
  std::int64_t last_epoch = 0;
};

/// Describes the first loss that differs and counts the others; nothing where none does. Losses of steps and epochs
/// that only one side has are passed over; throws Error (bad_input) where they have none in common.
[[nodiscard]] std::optional<std::string> differing_losses(const ExpectedLosses& expected, const HadLosses& had,
                                                          double rtol, double atol, const std::string& path);

}  // namespace attn::train
