// Heatmaps as a separate page, or as a section of another page.
#pragma once

#include "attn/report/heatmap.h"
#include "drawing/page.h"

namespace attn::report {

/// Returns a self-contained page with selectors for layer, head, scale and view.
[[nodiscard]] std::string heatmap_html(const HeatmapReport& report);

/// Appends the section to the page, and its weights to the payloads.
void add_heatmap(Page& page, const std::string& title, const HeatmapReport& report);

/// Returns notes for readers: the meaning of cells, the item of the batch, weights that are not finite.
[[nodiscard]] std::vector<std::string> heatmap_notes(const HeatmapReport& report);
[[nodiscard]] std::vector<std::string> heatmap_warnings(const HeatmapReport& report);

/// Returns the number of queries that are ignored as padding, as a sentence without a period; "" if there are none.
[[nodiscard]] std::string padding_note(const HeatmapReport& report);

/// Returns the setting, "cpu (onednn), float32, …, seed 0", and a line for each input.
[[nodiscard]] std::vector<std::string> heatmap_about(const HeatmapReport& report);

}  // namespace attn::report
