// A summary as text: Keras's own table, and forms for programs and pages.
#pragma once

#include <optional>
#include <string>

#include "attn/keras/masks.h"
#include "attn/keras/summary.h"
#include "attn/report/format.h"

namespace attn::report {

/// The widest table that is drawn, in cells.
inline constexpr int kLongestLine = 10000;

/// Which layers, by regular expressions of up to 4,096 bytes that match the beginning of their names (Python's
/// re.match, in the syntax of PCRE2).
struct LayerRange {
  std::string first;
  std::string last;
};

struct SummaryOptions {
  /// Keras's `line_length`: the table is exactly that wide.
  std::optional<int> line_length;
  /// Columns of the terminal; nothing where there is none. Without a line length the table is as wide as Keras makes it
  /// there; without either, as wide as it takes to cut no name.
  std::optional<int> terminal_columns;
  bool expand_nested = false;
  bool show_trainable = false;
  std::optional<LayerRange> layer_range;
};

/// table: what Keras 3.15's model.summary() prints, byte for byte, where neither line length nor console cut it off;
/// names are made printable first, and emoji codes in names stay codes. Throws Error (usage) in Keras's words where the
/// line is too short for the columns or the range matches no layer.
///
/// json: "attn.summary/1". Nested rows (with expand_nested) are the "layers" of their parent. Unknown dimensions are
/// null; a layer with several outputs has a list of shapes, one that was never called has null. Counts are exact. With
/// `masks` it also tells where they go (attn/report/masks_view.h).
///
/// markdown: a heading, a table and the totals. csv: one record per row with name, class_name, level, output_shape,
/// params, trainable_params, connected_to. Widths change the table alone.
[[nodiscard]] std::string render(Format format, const keras::Summary& summary, const SummaryOptions& options,
                                 const keras::MaskTrace* masks = nullptr);

}  // namespace attn::report
