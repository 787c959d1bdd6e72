#include "attn/train/loss_gradients.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/name_pattern.h"
#include "attn/gradients/gradients.h"
#include "attn/train/read_data.h"
#include "attn/train/trainer.h"

namespace attn::train {

using graph::ValueId;

keras::LossGraph lower_loss(const open::LoadedModel& loaded, const open::GivenInputs& given,
                            const open::Execution& execution, const GradientRequest& request,
                            const std::optional<std::string>& dtype) {
  keras::LowerOptions options;
  options.batch = execution.batch;
  if (!given.arrays.empty()) options.batch = given.arrays.begin()->second.shape()[0];
  options.sequence_length = execution.sequence_length;
  options.dtype = dtype;
  const std::vector<std::string> names = loaded.model.array_names();
  for (const auto& [name, tensor] : given.arrays)
    if (std::ranges::find(names, name) != names.end()) options.input_shapes.emplace(name, tensor.shape());
  keras::LossOptions how;
  how.loss = request.loss;
  how.output = request.output;
  how.arrays = target_types(loaded.model, given);
  how.training = request.training;
  how.drops = request.drops;
  how.seed = execution.seed;
  return loaded.model.lower_loss(options, how);
}

std::vector<WantedGradient> wanted_gradients(const graph::Graph& graph, const keras::Model& model,
                                             const GradientRequest& request) {
  std::vector<WantedGradient> out;
  std::vector<ValueId> value_of(graph.weights.size(), graph::kNone);
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].kind == graph::ValueKind::weight)
      value_of[graph::at(graph.values[i].weight)] = static_cast<ValueId>(i);
  for (std::size_t i = 0; i < graph.weights.size(); ++i) {
    const graph::WeightSpec& spec = graph.weights[i];
    if (spec.trainable && is_floating(spec.dtype) && (request.wrt.empty() || matches_any(spec.path, request.wrt)))
      out.push_back({spec.path, value_of[i]});
  }
  if (out.empty() && !request.wrt.empty()) throw bad_usage("`wrt`: no trainable weight matches");
  const std::vector<std::string> names = model.array_names();
  for (const ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    if (request.inputs && is_floating(value.dtype) && std::ranges::find(names, value.name) != names.end())
      out.push_back({"input:" + value.name, id});
  }
  if (out.empty()) throw bad_input("the model has no trainable weight; `input_gradients` gives those of its inputs");
  return out;
}

graph::Graph with_gradients(const keras::LossGraph& lowered, const std::vector<WantedGradient>& wanted) {
  std::vector<ValueId> values;
  for (const WantedGradient& each : wanted) values.push_back(each.value);
  gradients::Differentiated out = gradients::differentiate(lowered.graph, lowered.loss, values);
  out.graph.outputs = {{"loss", lowered.loss}};
  out.graph.scores.clear();
  for (const keras::LossGraph::Term& term : lowered.terms) out.graph.outputs.push_back({term.name, term.value});
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (out.gradients[i] != graph::kNone) out.graph.outputs.push_back({wanted[i].name, out.gradients[i]});
  return std::move(out.graph);
}

std::vector<const Tensor*> gradients_in(const std::vector<NamedTensor>& outputs, const keras::LossGraph& lowered,
                                        const std::vector<WantedGradient>& wanted) {
  std::vector<const Tensor*> out;
  std::size_t next = 1 + lowered.terms.size();
  for (const WantedGradient& each : wanted) {
    const bool is_next = next < outputs.size() && outputs[next].name == each.name;
    out.push_back(is_next ? &outputs[next++].tensor : nullptr);
  }
  return out;
}

std::vector<NamedTensor> named_gradients(const std::vector<NamedTensor>& outputs, const keras::LossGraph& lowered,
                                         const std::vector<WantedGradient>& wanted) {
  std::vector<NamedTensor> out{{"loss", outputs.front().tensor}};
  const auto gradients = gradients_in(outputs, lowered, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const graph::Value& value = lowered.graph.value(wanted[i].value);
    out.push_back({wanted[i].name, gradients[i] != nullptr ? *gradients[i] : Tensor(value.dtype, value.shape)});
  }
  return out;
}

void complete_arrays(const keras::LossGraph& lowered, std::uint64_t seed, open::GivenInputs& given) {
  draw_targets(lowered, seed, given.arrays);
  for (const keras::LossGraph::Draw& draw : lowered.draws)
    given.arrays.emplace(lowered.graph.value(draw.value).name, drawn_numbers(lowered.graph, draw, 0));
}

}  // namespace attn::train
