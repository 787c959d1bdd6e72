#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "attn/attn.h"
#include "attn/base/text.h"
#include "attn/library/setting.h"
#include "attn/open/session.h"
#include "attn/report/heatmap.h"
#include "attn/run/attention_maps.h"
#include "attn/run/inputs.h"
#include "runner_parts.h"

namespace attn {

void Runner::Parts::run(std::vector<Tensor> inputs) {
  if (execution.skip_padding) {
    graph::Graph unpadded = graph;
    open::skip_padding(unpadded, inputs, open::Silent());
    session.reset();
    session = std::make_unique<run::Session>(*backend, std::move(unpadded), weights, execution.compile_options());
  }
  session->run(inputs);
}

Runner::Runner(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

std::vector<NamedTensor> Runner::inputs() const {
  std::vector<NamedTensor> out;
  for (const graph::ValueId id : parts_->graph.inputs) {
    const graph::Value& value = parts_->graph.value(id);
    out.push_back({value.name, Tensor(value.dtype, value.shape)});
  }
  return out;
}

std::vector<NamedTensor> Runner::run(const std::map<std::string, Tensor>& inputs) {
  std::vector<std::string> names;
  for (const graph::ValueId id : parts_->graph.inputs) names.push_back(parts_->graph.value(id).name);
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'; its inputs are {}", printable(name), join(names, ", "));
  parts_->run(run::make_inputs(parts_->graph, inputs, parts_->execution.seed));
  return parts_->session->outputs();
}

std::vector<NamedTensor> Runner::scores() const {
  return parts_->session ? parts_->session->scores() : std::vector<NamedTensor>();
}

std::string Runner::attention_maps() const {
  const std::vector<NamedTensor> scores = this->scores();
  if (scores.empty()) return "";
  constexpr std::int64_t kSide = 64;  // cells per head: enough to recognize its pattern
  run::MapOptions options;
  options.most_cells = report::kMostSvgCells;
  options.most_rows = kSide;
  std::vector<int> indices(scores.size());
  std::iota(indices.begin(), indices.end(), 0);
  report::HeatmapReport out;
  out.setting = library::setting_of(printable(parts_->graph.name), parts_->graph, *parts_->backend, parts_->execution);
  out.setting.weights = parts_->weights_origin;
  out.seed = parts_->execution.seed;
  out.layers = run::attention_maps(scores, run::scores_layouts(parts_->graph), indices, options);
  return report::render(report::Format::svg, out, {});
}

}  // namespace attn
