#include "output/onnx_target.h"

#include <algorithm>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/onnx/export.h"
#include "attn/open/model.h"
#include "attn/weights/bind.h"
#include "output/progress.h"
#include "output/weights_target.h"

namespace attn::cli {
namespace {

/// The names and shapes of the inputs; kUnknown is a size that stays open in the file.
struct Inputs {
  std::vector<std::string> names;
  std::vector<Shape> shapes;
};

Inputs inputs_of(const keras::Model& model, const OnnxOptions& options) {
  keras::LowerOptions symbolic;
  symbolic.symbolic = true;
  const graph::Graph graph = model.lower(symbolic);
  Inputs out;
  for (const graph::ValueId id : graph.inputs) {
    Shape shape = graph.value(id).shape;
    if (const auto given = options.shapes.find(graph.value(id).name); given != options.shapes.end())
      shape = given->second;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto& given = axis == 0 ? options.batch : options.sequence_length;
      if (shape[axis] == kUnknown && given) shape[axis] = *given;
    }
    out.names.push_back(graph.value(id).name);
    out.shapes.push_back(shape);
  }
  for (const auto& [name, shape] : options.shapes)
    if (std::find(out.names.begin(), out.names.end(), name) == out.names.end())
      throw bad_usage("--shape {}: the model has no such input; its inputs are {}", printable(name),
                      join(out.names, ", "));
  return out;
}

}  // namespace

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

report::SavedReport save_onnx(const std::string& path, const open::LoadedModel& loaded, const weights::Store& store,
                              const OnnxOptions& options, const Console& console) {
  if (const auto texts = loaded.model.text_outputs(); !texts.empty())
    throw bad_input(
        "{}: the output '{}' contains strings, which the ONNX export does not support; remove its "
        "StringLookup(invert=True)",
        printable(loaded.file), printable(texts.front().name));
  const Inputs inputs = inputs_of(loaded.model, options);
  keras::LowerOptions lower;
  lower.dtype = options.dtype;
  const onnx::Samples samples = onnx::sample(inputs.names, inputs.shapes, [&](const std::vector<Shape>& shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i) lower.input_shapes[inputs.names[i]] = shapes[i];
    return loaded.model.lower(lower);
  });
  const std::vector<Tensor> tensors = weights::bind(loaded.model.weights(), store);
  const Progress progress = writing(console, path, tensors);
  onnx::write_model(path, onnx::export_model(samples, tensors, options.opset), ATTN_VERSION);
  return saved_report(path, tensors);
}

}  // namespace attn::cli
