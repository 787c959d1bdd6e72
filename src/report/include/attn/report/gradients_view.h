// The gradients of a model, as text and as a plot.
#pragma once

#include <string>

#include "attn/report/format.h"
#include "attn/report/gradients_report.h"

namespace attn::report {

/// table: a row for each layer, then the loss and the result of the check. json: "attn.grad/1". svg: a bar for each
/// row, the root mean square of its gradient on a logarithmic scale.
[[nodiscard]] std::string render(Format format, const GradientsReport& report);

}  // namespace attn::report
