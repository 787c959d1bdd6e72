// The scaling of the loss, for training in float16.
#pragma once

#include <cstdint>
#include <string>

namespace attn::train {

/// The factor of the loss, which prevents gradients from vanishing below float16's range.
struct LossScaling {
  enum class Kind : std::uint8_t { none, fixed, dynamic } kind = Kind::none;
  double factor = 1.0;  ///< the factor, if it is fixed

  friend bool operator==(const LossScaling&, const LossScaling&) = default;
};
/// Parses "none", "dynamic", or a number above 0. Throws Error (usage).
[[nodiscard]] LossScaling loss_scaling_of(const std::string& text);
/// Returns the text that loss_scaling_of parses.
[[nodiscard]] std::string text_of(const LossScaling& scaling);

}  // namespace attn::train
