#include "costs_rows.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/number.h"

namespace attn::report {
namespace {
std::string share_text(Count part, Count whole) {
  return whole == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string bytes_text(const std::vector<DTypeBytes>& list) {
  std::vector<std::string> texts;
  for (const DTypeBytes& bytes : list)
    texts.push_back(fmt::format("{} {}", memory_size(bytes.bytes), name_of(bytes.dtype)));
  return texts.empty() ? "-" : join(texts, ", ");
}

std::string size_text(Count bytes) { return bytes == 0 ? "-" : memory_size(bytes); }

std::string title(const CostRow& row) {
  return indent(row.level) + row.name + (row.class_name.empty() ? "" : " (" + row.class_name + ")");
}

}  // namespace

std::string indent(int level) {
  std::string out;
  for (int i = 1; i < level; ++i) out += "· ";
  return level > 0 ? out + "└ " : out;
}

bool is_shown(const CostRow& row, const CostOptions& options) {
  return row.level <= options.depth || (options.expand_nested && row.nested);
}

std::vector<VariableCost> variables_of(const std::vector<CostRow>& rows, std::size_t i, const CostOptions& options) {
  std::vector<VariableCost> out = rows[i].variables;
  const int level = rows[i].level;
  std::vector<std::string> names;  // names of the nested rows in between
  int skipped_below = -1;          // inside a displayed row, which has its own line
  for (std::size_t j = i + 1; j < rows.size() && rows[j].level > level; ++j) {
    if (skipped_below >= 0 && rows[j].level > skipped_below) continue;
    skipped_below = is_shown(rows[j], options) ? rows[j].level : -1;
    if (skipped_below >= 0) continue;
    names.resize(static_cast<std::size_t>(rows[j].level - level - 1));
    names.push_back(rows[j].name);
    for (VariableCost variable : rows[j].variables) {
      variable.name = join(names, "/") + "/" + variable.name;
      out.push_back(std::move(variable));
    }
  }
  return out;
}

std::string shapes_text(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(shape.str());
  return texts.empty() ? "-" : join(texts, ", ");
}

Table costs_as_table(const CostReport& report, const CostOptions& options) {
  Table table{{{"Layer (type)"}, {"Output shape"}, {"Params", Align::right}, {"%", Align::right}}, {}};
  const bool scores = report.total.score_bytes > 0;
  if (options.costs) {
    table.columns.push_back({"FLOPs", Align::right});
    table.columns.push_back({"%", Align::right});
  }
  table.columns.push_back({"Weights", Align::right});
  if (options.costs) table.columns.push_back({"Activations", Align::right});
  if (options.costs && scores) table.columns.push_back({"Scores", Align::right});
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const CostRow& row = report.rows[i];
    if (!is_shown(row, options)) continue;
    std::vector<std::string> cells{title(row), shapes_text(row.output_shapes), with_commas(row.params),
                                   share_text(row.params, report.total.params)};
    if (options.costs) {
      cells.push_back(with_commas(row.flops));
      cells.push_back(share_text(row.flops, report.total.flops));
    }
    cells.push_back(bytes_text(row.weight_bytes));
    if (options.costs) cells.push_back(size_text(row.activation_bytes));
    if (options.costs && scores) cells.push_back(size_text(row.score_bytes));
    table.rows.push_back(std::move(cells));
    if (!options.variables) continue;
    for (const VariableCost& variable : variables_of(report.rows, i, options)) {
      std::vector<std::string> of_variable{indent(row.level + 1) + variable.name, variable.shape.str(),
                                           with_commas(variable.params),
                                           share_text(variable.params, report.total.params)};
      of_variable.resize(table.columns.size());
      of_variable[options.costs ? 6 : 4] = fmt::format("{} {}", memory_size(variable.bytes), name_of(variable.dtype));
      table.rows.push_back(std::move(of_variable));
    }
  }
  return table;
}

std::vector<CostLine> costs_totals(const CostReport& report, const CostOptions& options) {
  const CostRow& total = report.total;
  std::vector<CostLine> lines;
  lines.push_back(
      {"Params", fmt::format("{}, {} of them trainable", with_commas(total.params),
                             total.trainable_params == total.params ? "all" : with_commas(total.trainable_params))});
  lines.push_back({"Weights", bytes_text(total.weight_bytes)});
  if (!options.costs) return lines;
  lines.push_back({"FLOPs", fmt::format("{} ({}) in a forward pass; a multiply-add is 2", with_commas(total.flops),
                                        prefixed(static_cast<double>(total.flops), "FLOP"))});
  if (total.hidden_flops > 0)
    lines.push_back({"", fmt::format("{} of them on pairs hidden by causality or a window: a kernel may skip them",
                                     with_commas(total.hidden_flops))});
  lines.push_back({"Activations", memory_size(total.activation_bytes) + ", everything that a pass writes"});
  if (total.score_bytes > 0)
    lines.push_back({"Scores", memory_size(total.score_bytes) + ", all attention probabilities if they were stored"});
  const PeakBytes& peak = report.peak;
  std::string parts = fmt::format("weights {}, inputs {}, activations {}", byte_size(peak.weights),
                                  byte_size(peak.inputs), byte_size(peak.activations));
  if (peak.prepared > 0) parts += ", computed from weights " + byte_size(peak.prepared);
  lines.push_back({"Peak", fmt::format("{}: {}", memory_size(peak.total()), parts)});
  return lines;
}

}  // namespace attn::report
