// The costs of a model by layer, as text.
#pragma once

#include <string>

#include "attn/keras/summary.h"
#include "attn/report/costs.h"
#include "attn/report/format.h"

namespace attn::report {

/// Formats: table, json ("attn.summary/1" with more members), markdown, csv. `summary` provides everything but the
/// costs.
[[nodiscard]] std::string render(Format format, const keras::Summary& summary, const CostReport& report,
                                 const CostOptions& options);

}  // namespace attn::report
