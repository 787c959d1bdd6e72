#include "model/summarize.h"

#include <algorithm>

#include "attn/base/text.h"
#include "classes/custom_layer.h"
#include "model/shown_unbuilt.h"
#include "model/variables.h"

namespace attn::keras {
namespace {

struct Totals {
  bool any = false;  // the layer has variables, even empty ones
  Count params = 0, trainable = 0, bytes = 0, trainable_bytes = 0;
};

Totals totals_of(Layer& layer) {
  Totals totals;
  const bool trainable = is_trainable(layer);
  visit_variables(layer, [&](const Variable& variable) {
    const graph::WeightSpec& spec = variable.spec();
    totals.any = true;
    const Count elements = spec.shape.count();
    const Count bytes = elements * static_cast<Count>(bytes_of(spec.dtype));
    totals.params += elements;
    totals.bytes += bytes;
    // A frozen layer freezes only its own variables; its sublayers keep their flags. But its trainable_variables are
    // empty (keras/src/layers/layer.py).
    if (spec.trainable && trainable) {
      totals.trainable += elements;
      totals.trainable_bytes += bytes;
    }
  });
  return totals;
}

/// In summary_utils.format_layer_shape a single dimension has no comma, unlike in Python's tuple.
std::string shape_text(const Shape& shape) {
  std::vector<std::string> dims;
  for (const Dim dim : shape) dims.push_back(dim == kUnknown ? "None" : std::to_string(dim));
  return "(" + join(dims, ", ") + ")";
}

SummaryRow row_of(Layer& layer, int level, const Functional* around) {
  SummaryRow row;
  row.name = layer.name;
  row.class_name = layer.class_name();
  row.level = level;
  row.built = layer.is_operation() || (layer.built && dynamic_cast<const ShownUnbuilt*>(&layer) == nullptr);
  row.custom = as_custom(layer) != nullptr;
  visit_layers(layer, [&](const Layer& inner) { row.unknown_params |= as_custom(inner) != nullptr && !inner.built; });
  const Totals totals = totals_of(layer);
  row.params = totals.params;
  row.trainable_params = totals.trainable;
  if (totals.any) row.trainable = is_trainable(layer);
  row.output_shape_text = "?";
  if (!layer.node_shapes.empty() && !layer.node_shapes.back().empty()) {
    row.output_shapes = layer.node_shapes.back();
    std::vector<std::string> shapes;
    for (const Shape& shape : row.output_shapes) shapes.push_back(shape_text(shape));
    row.output_shape_text = shapes.size() == 1 ? shapes.front() : "[" + join(shapes, ", ") + "]";
  }
  if (around != nullptr) row.connected_to = around->connections(layer);
  return row;
}

/// Adds the rows of layers inside `model`. Keras shows their inputs only if `around` calls them, too.
void add_nested_rows(const Layer& model, int level, const Functional* around, std::vector<SummaryRow>& rows) {
  for (Layer* layer : model.layers()) {
    rows.push_back(row_of(*layer, level, around));
    add_nested_rows(*layer, level + 1, around, rows);
  }
}

void add_totals(Layer& root, Summary& out) {
  const Totals totals = totals_of(root);
  out.total_params = totals.params;
  out.trainable_params = totals.trainable;
  out.non_trainable_params = totals.params - totals.trainable;
  out.total_bytes = totals.bytes;
  out.trainable_bytes = totals.trainable_bytes;
  out.non_trainable_bytes = totals.bytes - totals.trainable_bytes;
}

}  // namespace

Summary summarize_custom(Layer& root) {
  Summary out;
  out.name = root.name;
  out.class_name = root.class_name();
  for (const graph::WeightSpec& spec : root.weights) {
    // The name of a layer in a model's list of layers follows "layers/".
    const auto slash = spec.path.find('/', spec.path.starts_with("layers/") ? 7 : 0);
    const std::string attribute = slash == std::string::npos ? "(itself)" : spec.path.substr(0, slash);
    auto row =
        std::find_if(out.rows.begin(), out.rows.end(), [&](const auto& known) { return known.name == attribute; });
    if (row == out.rows.end()) {
      row = out.rows.emplace(out.rows.end());
      row->name = attribute;
      row->class_name = row->output_shape_text = "?";
      row->trainable = root.trainable;
      row->custom = true;
    }
    row->params += spec.shape.count();
    row->trainable_params += spec.trainable ? spec.shape.count() : Count(0);
  }
  add_totals(root, out);
  out.unknown_params = !root.built;
  return out;
}

Summary summarize(Functional& model) {
  Summary out;
  out.name = model.name;
  out.class_name = model.class_name();
  const bool sequential = !model.is_functional();
  out.sequential_like = model.sequential_like();
  for (Layer* layer : sequential ? model.layers() : model.operations()) {
    const Functional* const around = sequential ? nullptr : &model;
    out.rows.push_back(row_of(*layer, 0, around));
    add_nested_rows(*layer, 1, around, out.rows);
  }
  add_totals(model, out);
  out.unknown_params = std::ranges::any_of(out.rows, &SummaryRow::unknown_params);
  // A layer that cannot be built because of a custom layer may have any number of parameters.
  for (SummaryRow& row : out.rows) row.unknown_params = row.unknown_params || (out.unknown_params && !row.built);
  return out;
}

}  // namespace attn::keras
