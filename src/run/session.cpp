#include "attn/run/session.h"

#include <algorithm>
#include <map>
#include <set>

#include "attn/base/stop.h"
#include "attn/plan/plan.h"
#include "attn/run/int8_products.h"

namespace attn::run {

Planned plan_for(const backends::Backend& backend, graph::Graph graph, Keep keep) {
  Planned out;
  out.model_outputs = graph.outputs.size();
  if (keep == Keep::layer_outputs) {
    // Makes them outputs of the graph, because passes leave outputs unchanged.
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      int output = 0;
      for (const graph::ValueId value : graph.layers[i].outputs) {
        out.kept.push_back({static_cast<graph::LayerId>(i), output++, value, {}});
        graph.outputs.push_back({graph.layers[i].name, value});
      }
    }
  }
  out.plan = plan::make_plan(backend.optimize(std::move(graph)));
  return out;
}

Session::Session(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
                 const backends::CompileOptions& options, Keep keep)
    : Session(backend, plan_for(backend, std::move(graph), keep), std::move(weights), options) {}

Session::Session(const backends::Backend& backend, Planned planned, std::vector<Tensor> weights,
                 const backends::CompileOptions& options)
    : graph_(planned.plan.graph),
      steps_(planned.plan.steps),
      model_outputs_(planned.model_outputs),
      kept_(std::move(planned.kept)),
      executable_(backend.compile(std::move(planned.plan), std::move(weights), options)) {}

void Session::run(std::span<const Tensor> inputs, const Advance& advance) {
  throw_if_stopped();
  if (!advance || device_clock() != nullptr) return executable_->run(inputs);
  const std::vector<bool> fixed = fixed_values(graph_);
  const auto work = [&](graph::NodeId id) {
    const graph::Node& node = graph_.nodes[static_cast<std::size_t>(id)];
    return static_cast<double>(graph::flops(graph_, node)) + static_cast<double>(traffic(graph_, node, fixed).total());
  };
  double whole = 0.0;
  for (const graph::NodeId id : steps_) whole += work(id);
  executable_->run_profiled(inputs, [&](graph::NodeId id, double) { advance(work(id) / std::max(1.0, whole)); });
}

std::vector<StepTime> Session::profile(std::span<const Tensor> inputs) {
  throw_if_stopped();
  std::map<graph::NodeId, std::string> kernels;
  for (const backends::KernelChoice& choice : executable_->choices()) kernels[choice.node] = choice.kernel;
  const std::vector<bool> fixed = fixed_values(graph_);
  std::vector<StepTime> out;
  executable_->run_profiled(inputs, [&](graph::NodeId id, double seconds) {
    const graph::Node& node = graph_.nodes[static_cast<std::size_t>(id)];
    StepTime step;
    if (node.layer != graph::kNone) step.layer = graph_.layers[static_cast<std::size_t>(node.layer)].name;
    step.operation = graph::name_of(node.op);
    step.kernel = kernels[id];
    step.seconds = seconds;
    step.flops = graph::flops(graph_, node);
    step.of_bytes = is_int8_product(node.op);
    step.bytes = traffic(graph_, node, fixed);
    out.push_back(std::move(step));
  });
  return out;
}

std::vector<NamedTensor> Session::outputs() const {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < model_outputs_; ++i) {
    const graph::Output& output = graph_.outputs[i];
    out.push_back({output.name, executable_->value(output.value)});
  }
  return out;
}

std::vector<LayerOutput> Session::layer_outputs() const {
  std::vector<LayerOutput> out = kept_;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].tensor = executable_->value(graph_.outputs[model_outputs_ + i].value);
  return out;
}

std::vector<NamedTensor> Session::scores() const {
  std::vector<NamedTensor> out;
  for (const graph::Scores& scores : graph_.scores) out.push_back({scores.name, executable_->value(scores.value)});
  return out;
}

Traffic traffic(const graph::Graph& graph, const graph::Node& node, const std::vector<bool>& fixed) {
  std::set<graph::ValueId> values(node.inputs.begin(), node.inputs.end());
  values.insert(node.outputs.begin(), node.outputs.end());
  Traffic out;
  for (const graph::ValueId id : values) {
    const graph::Value& value = graph.value(id);
    // A gather reads only the rows that it returns, not the table.
    const bool table = std::holds_alternative<graph::Gather>(node.op) && id == node.inputs.front();
    std::int64_t& sum = fixed[static_cast<std::size_t>(id)] ? out.weights : out.others;
    sum += (table ? graph.value(node.outputs.front()) : value).shape.size() * bytes_of(value.dtype);
  }
  return out;
}

UInt128 total_flops(const graph::Graph& graph) {
  UInt128 total = 0;
  for (const graph::Node& node : graph.nodes) total += graph::flops(graph, node);
  return total;
}

}  // namespace attn::run
