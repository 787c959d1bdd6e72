#include "summary_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/report/terminal.h"
#include "drawing/markup.h"
#include "summary_rows.h"
#include "text/cells.h"
#include "text/wrap.h"

// The layout of keras/src/utils/summary_utils.py with rich 15's table.

namespace attn::report {
namespace {

using keras::Summary;
using keras::SummaryRow;

// Keras's constants.
constexpr int kPipeColumns = 80;
constexpr int kLineLength = 88;
constexpr int kLineLengthConnected = 108;
constexpr int kTrainableExtra = 12;
constexpr double kTrainableShare = 0.90;
constexpr int kNarrowestColumn = 4;
constexpr int kTerminalMargin = 4;

// Without a given width, a column fits whole cells up to the first limit and whole words up to the second; longer text
// wraps.
constexpr int kWideCell = 60;
constexpr int kWideWord = 500;

struct Column {
  std::u32string header;
  Justify justify;
  double position;  ///< position of the column's right edge relative to the line
  int width = 0;    ///< width of the column's text in cells
};

struct LayerTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::u32string>> rows;
};

std::vector<Column> columns_of(const Summary& summary, const SummaryOptions& options) {
  std::vector<Column> columns;
  if (summary.sequential_like) {
    columns = {{U"Layer (type)", Justify::left, 0.45},
               {U"Output Shape", Justify::left, 0.80},
               {U"Param #", Justify::right, 1.0}};
  } else {
    columns = {{U"Layer (type)", Justify::left, 0.3},
               {U"Output Shape", Justify::left, 0.56},
               {U"Param #", Justify::right, 0.74},
               {U"Connected to", Justify::left, 1.0}};
  }
  if (options.show_trainable) {
    for (Column& column : columns) column.position *= kTrainableShare;
    columns.push_back({U"Trainable", Justify::center, 1.0});
  }
  return columns;
}

/// Returns the text that Keras shows for markup; the text itself if Keras rejects the markup.
std::string shown(const std::string& markup, const std::string& text) { return plain_markup(markup).value_or(text); }

std::string layer_cell(const SummaryRow& row) {
  std::string prefix;
  for (int i = 0; i < row.level; ++i) prefix += "   ";
  if (row.level > 0) prefix += "└ ";
  const std::string name = prefix + printable(row.name);
  const std::string class_name = printable(row.class_name);
  return shown(escape_markup(name) + " (" + escape_markup(class_name) + ")", name + " (" + class_name + ")");
}

/// Returns "layer[0][0]" with Keras's markup: indices are colored, the name is not escaped.
std::string connection_markup(const std::string& connection) {
  const std::size_t second = connection.rfind('[');
  if (second == std::string::npos || second == 0) return connection;
  const std::size_t first = connection.rfind('[', second - 1);
  if (first == std::string::npos) return connection;
  const auto coloured = [&](std::size_t open, std::size_t end) {
    return "[[color(34)]" + connection.substr(open + 1, end - open - 2) + "[/]]";
  };
  return connection.substr(0, first) + coloured(first, second) + coloured(second, connection.size());
}

std::string connected_cell(const SummaryRow& row) {
  if (row.connected_to.empty()) return "-";
  std::vector<std::string> texts;
  std::vector<std::string> markups;
  for (const std::string& connection : row.connected_to) {
    texts.push_back(printable(connection));
    markups.push_back(connection_markup(texts.back()));
  }
  return shown(join(markups, ", "), join(texts, ", "));
}

std::string trainable_cell(const SummaryRow& row) {
  if (!row.trainable) return "-";
  return *row.trainable ? "Y" : "N";
}

/// Converts text for the table. Output identical to Keras's always has its alphabet.
std::string fit(const std::string& text, const SummaryOptions& options) {
  return options.line_length ? text : cell_text(text);
}

std::vector<std::vector<std::u32string>> rows_of(const Summary& summary, const SummaryOptions& options) {
  std::vector<std::vector<std::u32string>> rows;
  for (const SummaryRow* row : shown_rows(summary, options)) {
    std::vector<std::string> cells{layer_cell(*row), printable(row->output_shape_text),
                                   row->unknown_params ? "?"
                                   : row->built        ? with_commas(row->params)
                                                       : "0 (unbuilt)"};
    if (!summary.sequential_like) cells.push_back(connected_cell(*row));
    if (options.show_trainable) cells.push_back(trainable_cell(*row));
    rows.emplace_back();
    for (const std::string& cell : cells) rows.back().push_back(code_points(fit(cell, options)));
  }
  return rows;
}

/// Keras requests columns whose text fills the line; rich then subtracts padding and rules again, evenly and from the
/// left, and rounds halves to even.
void take_off_padding(std::vector<Column>& columns, int line_length) {
  const int count = static_cast<int>(columns.size());
  int used = 0;
  for (const Column& column : columns) used += column.width;
  int excess = used + 2 * count - (line_length - (count + 1));
  for (int i = 0; i < count; ++i) {
    const int taken = static_cast<int>(std::nearbyint(static_cast<double>(excess) / (count - i)));
    columns[static_cast<std::size_t>(i)].width -= taken;
    excess -= taken;
  }
}

void fit_columns(std::vector<Column>& columns, int line_length) {
  int used = 0;
  for (Column& column : columns) {
    column.width = static_cast<int>(column.position * line_length) - used;
    if (column.width < kNarrowestColumn) {
      throw bad_usage("Insufficient console width to print summary: {} columns are too few, give a line length of 80",
                      line_length);
    }
    used += column.width;
  }
  take_off_padding(columns, line_length);
}

/// Widens columns until no word is split.
void widen_columns(LayerTable& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    Column& column = table.columns[i];
    column.width = cell_width(column.header);
    for (const std::vector<std::u32string>& row : table.rows) {
      const int whole = std::min(cell_width(row[i]), kWideCell);
      column.width = std::max({column.width, whole, std::min(widest_word(row[i]), kWideWord)});
    }
  }
}

/// Appends a rule: "┏━━┳━━┓".
void append_rule(std::string& out, const LayerTable& table, const std::array<std::string_view, 4>& parts) {
  const auto& [left, line, cross, right] = parts;
  out += left;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out += cross;
    for (int j = 0; j < table.columns[i].width + 2; ++j) out += line;
  }
  out += right;
  out += '\n';
}

enum class Vertical { top, bottom };

void append_row(std::string& out, const LayerTable& table, const std::vector<std::u32string>& cells,
                std::string_view divider, Vertical vertical, Overflow overflow) {
  std::vector<std::vector<std::u32string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = table.columns[i];
    wrapped.push_back(wrap(cells[i], column.width, column.justify, overflow));
    height = std::max(height, wrapped.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t skipped = vertical == Vertical::bottom ? height - wrapped[i].size() : 0;
      const bool blank = line < skipped || line - skipped >= wrapped[i].size();
      const std::u32string text = blank ? std::u32string() : wrapped[i][line - skipped];
      out += divider;
      out += ' ' + utf8(set_cell_width(text, table.columns[i].width)) + ' ';
    }
    out += divider;
    out += '\n';
  }
}

void append_table(std::string& out, const LayerTable& table, Overflow overflow) {
  std::vector<std::u32string> headers;
  for (const Column& column : table.columns) headers.push_back(column.header);
  append_rule(out, table, {"┏", "━", "┳", "┓"});
  append_row(out, table, headers, "┃", Vertical::bottom, overflow);
  append_rule(out, table, {"┡", "━", "╇", "┩"});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (i > 0) append_rule(out, table, {"├", "─", "┼", "┤"});
    append_row(out, table, table.rows[i], "│", Vertical::top, overflow);
  }
  append_rule(out, table, {"└", "─", "┴", "┘"});
}

/// Appends a line next to the table, wrapped at the width of the console.
void append_text(std::string& out, const std::string& text, std::optional<int> console_columns) {
  if (!console_columns) {
    out += text + '\n';
    return;
  }
  for (const std::u32string& line : wrap(code_points(text), *console_columns, Justify::none, Overflow::fold)) {
    out += utf8(line) + '\n';
  }
}

/// The preprocessor table that KerasHub's tasks print before the layers (keras_hub/src/models/task.py).
void append_preprocessor(std::string& out, const keras::Preprocessor& preprocessor, std::optional<int> line_length,
                         std::optional<int> console_columns, const SummaryOptions& options) {
  LayerTable table{{{U"Layer (type)", Justify::left, 0.6}, {U"Config", Justify::right, 1.0}}, {}};
  const auto number = [](std::int64_t n) { return n < 0 ? "None" : with_commas(static_cast<keras::Count>(n)); };
  for (const keras::PreprocessorPart& part : preprocessor.parts) {
    std::string config = "Vocab size: " + number(part.vocabulary_size.value_or(-1));
    if (part.image_size)
      config = fmt::format("Image size: ({}, {})", number((*part.image_size)[0]), number((*part.image_size)[1]));
    if (part.audio_shape) {
      std::vector<std::string> sizes;
      for (const std::int64_t size : *part.audio_shape) sizes.push_back(number(size));
      config = "Audio shape: (" + join(sizes, ", ") + ")";
    }
    const std::string layer = printable(part.name) + " (" + printable(part.class_name) + ")";
    table.rows.push_back({code_points(fit(layer, options)), code_points(config)});
  }
  if (line_length) {
    table.columns[0].width = static_cast<int>(0.6 * *line_length);
    table.columns[1].width = static_cast<int>(0.4 * *line_length);
    take_off_padding(table.columns, *line_length);
  } else {
    widen_columns(table);
  }
  append_text(out, fit("Preprocessor: \"" + printable(preprocessor.name) + "\"", options), console_columns);
  append_table(out, table, line_length ? Overflow::ellipsis : Overflow::fold);
}

int default_line_length(const Summary& summary, const SummaryOptions& options) {
  const int own =
      (summary.sequential_like ? kLineLength : kLineLengthConnected) + (options.show_trainable ? kTrainableExtra : 0);
  return std::min(own, *options.terminal_columns - kTerminalMargin);
}

}  // namespace

std::string summary_table(const Summary& summary, const SummaryOptions& options) {
  if (options.line_length.value_or(0) > kLongestLine) {
    throw bad_usage("the line length {} is beyond {}", *options.line_length, kLongestLine);
  }
  LayerTable table{columns_of(summary, options), {}};
  std::optional<int> line_length = options.line_length, console_columns;  // empty: the width is unlimited
  if (options.line_length) {
    console_columns = std::max(options.terminal_columns.value_or(kPipeColumns), *options.line_length);
  } else if (options.terminal_columns) {
    line_length = default_line_length(summary, options);
    console_columns = options.terminal_columns;
  }
  if (line_length) fit_columns(table.columns, *line_length);
  table.rows = rows_of(summary, options);
  if (!console_columns) widen_columns(table);
  const Overflow overflow = console_columns ? Overflow::ellipsis : Overflow::fold;

  std::string out;
  if (summary.preprocessor) append_preprocessor(out, *summary.preprocessor, line_length, console_columns, options);
  const std::string name = printable(summary.name);
  append_text(out, fit(shown("Model: \"" + escape_markup(name) + "\"", "Model: \"" + name + "\""), options),
              console_columns);
  append_table(out, table, overflow);
  for (const std::string& line : total_lines(summary)) append_text(out, " " + line, console_columns);
  return out;
}

}  // namespace attn::report
