#include "dump.h"

#include <filesystem>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/report/dump_view.h"
#include "attn/run/layer_arrays.h"
#include "console.h"

namespace attn::cli {

void write_dump(const std::string& folder, const graph::Graph& graph, std::span<const Tensor> inputs,
                const run::Session& session, const report::RunReport& report) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw bad_input("{}: cannot make this folder: {}", printable(folder), error.message());
  const std::vector<run::LayerArray> layers = run::layer_arrays(graph, session.layer_outputs());
  std::vector<NamedTensor> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) arrays.push_back({graph.value(graph.inputs[i]).name, inputs[i]});
  for (const run::LayerArray& layer : layers) arrays.push_back({layer.name, layer.from.tensor});
  io::write_tensors(folder + "/" + kDumpArrays, arrays);
  write_result(report::dump_json(report, layers), folder + "/manifest.json");
}

}  // namespace attn::cli
