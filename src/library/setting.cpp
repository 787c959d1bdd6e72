#include "attn/library/setting.h"

#include <algorithm>
#include <thread>
#include <variant>

#include "attn/backends/precision.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"

namespace attn::library {
namespace {

/// Returns the requested dtype, else the dtype of the model's layers.
std::string dtype_name(const graph::Graph& graph, const std::optional<std::string>& asked) {
  if (asked) return *asked;
  for (const graph::Node& node : graph.nodes) {
    const DType dtype = graph.value(node.outputs.front()).dtype;
    const bool computes =
        !std::holds_alternative<graph::Cast>(node.op) && !std::holds_alternative<graph::Gather>(node.op);
    if (computes && is_floating(dtype)) return std::string(name_of(dtype));
  }
  return "float32";
}

/// Returns the number of threads that will run.
int thread_count(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

report::Setting setting_of(const std::string& model, const graph::Graph& graph, const backends::Backend& backend,
                           const open::Execution& execution) {
  report::Setting out;
  out.model = model;
  out.device = backend.device();
  out.backend = backend.name();
  out.dtype = dtype_name(graph, execution.dtype);
  out.matmul_precision = name_of(execution.precision);
  out.batch = open::batch_of(graph);
  out.seq_len = open::sequence_length_of(graph);
  out.threads = thread_count(execution.threads);
  out.skip_padding = execution.skip_padding;
  return out;
}

report::Setting setting_of(const open::LoadedModel& loaded, const graph::Graph& graph, const backends::Backend& backend,
                           const open::Execution& execution) {
  report::Setting out = setting_of(loaded.name, graph, backend, execution);
  out.weights = open::weights_origin(loaded, execution);
  return out;
}

std::vector<report::InputReport> describe_inputs(const graph::Graph& graph, const open::GivenInputs& given) {
  std::vector<report::InputReport> out;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const auto file = given.files.find(value.name);
    out.push_back({value.name, std::string(name_of(value.dtype)), value.shape,
                   file == given.files.end() ? "random" : file->second});
  }
  return out;
}

}  // namespace attn::library
