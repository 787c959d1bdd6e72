// Heatmaps as a page of their own, and as a section of another.
#pragma once

#include "attn/report/heatmap.h"
#include "page.h"

namespace attn::report {

/// A page of its own that needs no network, with pickers for layer, head, scale and view.
[[nodiscard]] std::string heatmap_html(const HeatmapReport& report);

/// Appends the section, and its weights to the payloads.
void add_heatmap(Page& page, const std::string& title, const HeatmapReport& report);

/// What the reader of a picture must know: how cells came about, which item of a batch it is, weights that are no
/// numbers.
[[nodiscard]] std::vector<std::string> heatmap_notes(const HeatmapReport& report);
[[nodiscard]] std::vector<std::string> heatmap_warnings(const HeatmapReport& report);

/// How many queries count for nothing because they are padding, as a sentence without its stop; "" where none are.
[[nodiscard]] std::string padding_note(const HeatmapReport& report);

/// "cpu (onednn), float32, …, seed 0" and a line per input.
[[nodiscard]] std::vector<std::string> heatmap_about(const HeatmapReport& report);

}  // namespace attn::report
