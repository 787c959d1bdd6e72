// What a model costs, layer by layer, as text.
#pragma once

#include <string>

#include "attn/keras/summary.h"
#include "attn/report/costs.h"

namespace attn::report {

/// `summary` tells what else a summary's JSON holds: "attn.summary/1" with more members.
[[nodiscard]] std::string costs_table(const keras::Summary& summary, const CostReport& report,
                                      const CostOptions& options);
[[nodiscard]] std::string costs_markdown(const keras::Summary& summary, const CostReport& report,
                                         const CostOptions& options);
[[nodiscard]] std::string costs_csv(const CostReport& report, const CostOptions& options);
[[nodiscard]] std::string costs_json(const keras::Summary& summary, const CostReport& report,
                                     const CostOptions& options);

}  // namespace attn::report
