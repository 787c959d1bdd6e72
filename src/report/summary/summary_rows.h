// Selects the rows of a summary.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/summary.h"
#include "attn/report/summary.h"

namespace attn::report {

/// Returns the rows inside the layer range; nested rows only if requested. The pointers are valid as long as `summary`.
/// Throws Error (usage) if the range matches no layer, or is not a valid regular expression.
[[nodiscard]] std::vector<const keras::SummaryRow*> shown_rows(const keras::Summary& summary,
                                                               const SummaryOptions& options);

/// Returns "Total params: 4,510 (17.62 KB)", or the known part of it, and the lines of trainable, non-trainable and
/// optimizer parameters.
[[nodiscard]] std::vector<std::string> total_lines(const keras::Summary& summary);

}  // namespace attn::report
