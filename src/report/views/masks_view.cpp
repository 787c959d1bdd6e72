#include "attn/report/masks_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/table.h"
#include "views/costs_rows.h"

namespace attn::report {
namespace {

using keras::MaskedTensor;
using keras::MaskRow;
using keras::MaskTrace;

std::vector<const MaskRow*> shown(const MaskTrace& trace, bool expand_nested) {
  std::vector<const MaskRow*> out;
  for (const MaskRow& row : trace.rows)
    if (expand_nested || row.level == 0) out.push_back(&row);
  return out;
}

/// Returns the mask of each tensor as text: "(None, 6), -".
std::string masks_of(const std::vector<MaskedTensor>& tensors) {
  if (std::none_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.mask.has_value(); }))
    return "-";
  std::vector<std::string> texts;
  for (const MaskedTensor& tensor : tensors) texts.push_back(tensor.mask ? tensor.mask->str() : "-");
  return join(texts, ", ");
}

std::string mask_effect(const MaskRow& row) {
  std::vector<std::string> words;
  if (row.makes) words.emplace_back("makes");
  if (!row.uses.empty()) words.push_back("uses " + join(row.uses, ", "));
  if (row.keeps) words.emplace_back("keeps");
  if (row.merges) words.emplace_back("merges");
  if (row.takes_off) words.emplace_back("removes input masks");
  if (row.drops) words.emplace_back("drops");
  return words.empty() ? "-" : join(words, "; ");
}

/// Returns the name of a call: "dense", and "dense[1]" for the second call of the layer.
std::string call_name(const MaskRow& row) {
  return row.call == 0 ? row.name : fmt::format("{}[{}]", row.name, row.call);
}

Table table_of(const MaskTrace& trace, bool expand_nested) {
  Table table{{{"Layer (type)"}, {"Masks in"}, {"What it does"}, {"Masks out"}}, {}};
  for (const MaskRow* row : shown(trace, expand_nested))
    table.rows.push_back({fmt::format("{}{} ({})", indent(row->level), call_name(*row), row->class_name),
                          masks_of(row->inputs), mask_effect(*row), masks_of(row->outputs)});
  return table;
}

Json tensors_json(const std::vector<MaskedTensor>& tensors, bool with_origin) {
  Json list = Json::array();
  for (const MaskedTensor& tensor : tensors) {
    Json json = Json::object();
    if (with_origin) json["of"] = json_text(tensor.of);
    json["mask"] = tensor.mask ? json_shape(*tensor.mask) : Json();
    list.push_back(std::move(json));
  }
  return list;
}

std::string masks_table(const std::string& model, const MaskTrace& trace, bool expand_nested) {
  std::string out = fmt::format("Model: \"{}\", its masks\n\n", printable(model));
  out += plain_table(table_of(trace, expand_nested));
  if (!trace.warnings.empty()) out += '\n';
  for (const std::string& warning : trace.warnings) out += fmt::format("Warning: {}\n", warning);
  return out;
}

std::string masks_markdown(const std::string& model, const MaskTrace& trace, bool expand_nested) {
  std::string out = fmt::format("## {}: masks\n\n", markdown_text(model));
  out += markdown_table(table_of(trace, expand_nested)) + '\n';
  for (const std::string& warning : trace.warnings) out += fmt::format("- {}\n", markdown_text(warning));
  return out;
}

std::string masks_csv(const MaskTrace& trace, bool expand_nested) {
  Table table{{{"name"}, {"class_name"}, {"level"}, {"call"}, {"masks_in"}, {"what_it_does"}, {"masks_out"}}, {}};
  for (const MaskRow* row : shown(trace, expand_nested))
    table.rows.push_back({row->name, row->class_name, fmt::format("{}", row->level), fmt::format("{}", row->call),
                          masks_of(row->inputs), mask_effect(*row), masks_of(row->outputs)});
  return csv_table(table);
}

}  // namespace

void add_masks(Json& summary, const MaskTrace& trace, bool expand_nested) {
  summary["masks"] = Json::array();
  for (const MaskRow* row : shown(trace, expand_nested)) {
    Json json;
    json["name"] = json_text(row->name);
    json["class_name"] = json_text(row->class_name);
    json["level"] = row->level;
    json["call"] = row->call;
    json["inputs"] = tensors_json(row->inputs, true);
    json["uses"] = Json::array();
    for (const std::string& name : row->uses) json["uses"].push_back(json_text(name));
    for (const auto& [key, value] :
         {std::pair("makes", row->makes), std::pair("keeps", row->keeps), std::pair("merges", row->merges),
          std::pair("drops", row->drops), std::pair("takes_off", row->takes_off)})
      json[key] = value;
    json["outputs"] = tensors_json(row->outputs, false);
    summary["masks"].push_back(std::move(json));
  }
  summary["mask_warnings"] = Json::array();
  for (const std::string& warning : trace.warnings) summary["mask_warnings"].push_back(json_text(warning));
}

std::string render(Format format, const std::string& model, const MaskTrace& trace, bool expand_nested) {
  switch (format) {
    case Format::table:
      return masks_table(model, trace, expand_nested);
    case Format::markdown:
      return masks_markdown(model, trace, expand_nested);
    case Format::csv:
      return masks_csv(trace, expand_nested);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
