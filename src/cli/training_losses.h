// Losses that a training is to have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "attn/report/training.h"

namespace attn::cli {

/// By step, or by epoch from 1.
struct ExpectedLosses {
  std::map<std::int64_t, double> steps, epochs;
};

/// From the lines of `attn train --log`, or a file of Keras's CSVLogger, which has epochs alone. Throws Error
/// (bad_input).
[[nodiscard]] ExpectedLosses read_expected_losses(const std::string& path);

/// How the first loss that differs does so, and how many do; nothing where none does. Losses of steps and epochs that
/// only one side has are passed over; throws Error (bad_input) where they have none in common.
[[nodiscard]] std::optional<std::string> differing_losses(const ExpectedLosses& expected,
                                                          const report::TrainingReport& report, double rtol,
                                                          double atol, const std::string& path);

}  // namespace attn::cli
