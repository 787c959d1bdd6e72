// A page with all results for a model.
#pragma once

#include <optional>
#include <string>

#include "attn/keras/summary.h"
#include "attn/report/costs.h"
#include "attn/report/format.h"
#include "attn/report/heatmap.h"
#include "attn/report/plan_report.h"
#include "attn/report/plot.h"
#include "attn/report/values.h"

namespace attn::report {

struct ModelPage {
  keras::Summary summary;
  CostReport costs;
  PlanReport plan;
  PlotGraph graph;
  std::optional<BenchRow> bench;         ///< a benchmark with its profile
  std::optional<HeatmapReport> heatmap;  ///< attention maps, for a model with attention
  std::optional<Provenance> provenance;
};

/// html: a self-contained page
[[nodiscard]] std::string render(Format format, const ModelPage& page);

}  // namespace attn::report
