// Attention maps as images and pages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"
#include "attn/run/attention_maps.h"

namespace attn::report {

/// The input image of a model.
struct InputImage {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  ///< three values for each pixel, row by row
};

struct HeatmapReport {
  Setting setting;
  std::uint64_t seed = 0;
  std::vector<InputReport> inputs;
  std::int64_t item = 0, items = 1;  ///< index of the item, and size of the batch
  bool log_scale = false;
  bool header = true;  ///< for images: print model, setting and inputs above the maps
  std::vector<run::LayerMap> layers;
  std::optional<Provenance> provenance;
  std::optional<InputImage> image;  ///< the image, for a model with a single image input
  /// Names of the positions, for each number of positions that an axis may have.
  std::map<std::int64_t, std::vector<std::string>> labels;
};

/// The style of a preview.
enum class Ink : std::uint8_t {
  color,  ///< half blocks in 256 colors; a line of text shows two rows of cells
  shade,  ///< blocks with four shades
  ascii,
};

struct PreviewOptions {
  Ink ink = Ink::shade;
  int columns = 100;  ///< width of the terminal in columns
};

/// Returns the side of a map in cells, if `maps` maps are arranged in a grid of this width.
[[nodiscard]] int preview_cells(int columns, std::size_t maps);

/// The maximum number of cells in an SVG, which keeps the file small enough for a figure.
inline constexpr std::int64_t kMostSvgCells = 90'000;
/// The maximum number of cells in a page, which keeps the file below 5 MB.
inline constexpr std::int64_t kMostPageCells = 3'300'000;

/// Returns the reason why an image has no labels of positions, or "" if it has them. An SVG has them only for a few
/// heads, a PNG never.
[[nodiscard]] std::string why_no_labels(Format format, const HeatmapReport& report);

/// table: statistics of the heads and a preview of the first layer's heads, drawn with `options`; json
/// ("attn.heatmap/1"): statistics of each head; svg: all heads of the layers in a grid, in the reader's light or dark
/// theme; png: the same without text, light; html: a self-contained page with selectors for layer, head, scale and
/// view.
[[nodiscard]] std::string render(Format format, const HeatmapReport& report, const PreviewOptions& options);

}  // namespace attn::report
