// A summary as text: Keras's table, and formats for programs and pages.
#pragma once

#include <optional>
#include <string>

#include "attn/keras/masks.h"
#include "attn/keras/summary.h"
#include "attn/report/format.h"

namespace attn::report {

/// The maximum width of a table, in cells.
inline constexpr int kLongestLine = 10000;

/// A range of layers, given by regular expressions of up to 4,096 bytes that match the beginning of their names
/// (Python's re.match, in the syntax of PCRE2).
struct LayerRange {
  std::string first;
  std::string last;
};

struct SummaryOptions {
  /// Keras's `line_length`: the exact width of the table.
  std::optional<int> line_length;
  /// The columns of the terminal; empty if there is none. Without a line length, the table has Keras's width for that
  /// terminal; without either, it is wide enough for every name.
  std::optional<int> terminal_columns;
  bool expand_nested = false;
  bool show_trainable = false;
  std::optional<LayerRange> layer_range;
};

/// table: the output of Keras 3.15's model.summary(), byte for byte, except for truncation by line length or console.
/// Names are made printable first, and emoji codes in names stay codes. Throws Error (usage) with Keras's message if
/// the line is too short for the columns or the range matches no layer.
///
/// json: "attn.summary/1". Nested rows (with expand_nested) are the "layers" of their parent. Unknown dimensions are
/// null; a layer with several outputs has a list of shapes, one that was never called has null. Counts are exact.
/// `masks` adds the flow of masks (attn/report/masks_view.h).
///
/// markdown: a heading, a table and the totals. csv: one record for each row with name, class_name, level,
/// output_shape, params, trainable_params, connected_to. Widths affect only the table.
[[nodiscard]] std::string render(Format format, const keras::Summary& summary, const SummaryOptions& options,
                                 const keras::MaskTrace* masks = nullptr);

}  // namespace attn::report
