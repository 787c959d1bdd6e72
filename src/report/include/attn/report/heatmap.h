// What heads attend to, as pictures and pages.
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

/// The image that a model was given.
struct InputImage {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  ///< three for each pixel, by rows
};

struct HeatmapReport {
  Setting setting;
  std::uint64_t seed = 0;
  std::vector<InputReport> inputs;
  std::int64_t item = 0, items = 1;  ///< which of the batch
  bool log_scale = false;
  bool header = true;  ///< of pictures: what ran, on what, and with which inputs
  std::vector<run::LayerMap> layers;
  std::optional<Provenance> provenance;
  std::optional<InputImage> image;                          ///< of a model with one input that is an image
  std::map<std::int64_t, std::vector<std::string>> labels;  ///< of positions, by their number
};

/// How a preview is drawn.
enum class Ink : std::uint8_t {
  color,  ///< half blocks in 256 colours, two rows of cells in a line
  shade,  ///< blocks of four shades
  ascii,
};

struct PreviewOptions {
  Ink ink = Ink::shade;
  int columns = 100;  ///< of the terminal
};

/// Cells of a side of the maps that `preview_columns` leaves room for, where `maps` stand beside and below each other.
[[nodiscard]] int preview_cells(int columns, std::size_t maps);

/// Most cells of an SVG, so that its size stays that of a figure.
inline constexpr std::int64_t kMostSvgCells = 90'000;
/// Most cells of a page, so that it stays below 5 MB.
inline constexpr std::int64_t kMostPageCells = 3'300'000;

/// Does a picture name the positions? An SVG does for a few heads, a PNG never. Else gives why not.
[[nodiscard]] std::string why_no_labels(Format format, const HeatmapReport& report);

/// table: the heads' statistics and a small picture of the first layer's heads, drawn as `options` say; json
/// ("attn.heatmap/1"): the statistics of each head; svg: all heads of the layers, beside each other and below each
/// other, light or dark as its reader prefers; png: the same without text, light; html: a page of its own that needs no
/// network, with pickers for layer, head, scale and view.
[[nodiscard]] std::string render(Format format, const HeatmapReport& report, const PreviewOptions& options);

}  // namespace attn::report
