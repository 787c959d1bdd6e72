// Plots gradients.
#pragma once

#include <string>

#include "attn/report/gradients_view.h"

namespace attn::report {

/// Returns a bar for each row, from the input to the loss: root mean squares on a logarithmic scale.
[[nodiscard]] std::string gradients_svg(const GradientsReport& report);

}  // namespace attn::report
