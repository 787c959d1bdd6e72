// Keras's table of a summary.
#pragma once

#include <string>

#include "attn/report/summary.h"

namespace attn::report {

[[nodiscard]] std::string summary_table(const keras::Summary& summary, const SummaryOptions& options);

}  // namespace attn::report
