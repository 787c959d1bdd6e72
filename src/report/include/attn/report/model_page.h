// All about a model on one page.
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
  std::optional<BenchRow> bench;         ///< with its profile
  std::optional<HeatmapReport> heatmap;  ///< of a model with attention
  std::optional<Provenance> provenance;
};

/// html: a page that needs no network
[[nodiscard]] std::string render(Format format, const ModelPage& page);

}  // namespace attn::report
