#include "attn/train/trial_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "attn/base/error.h"
#include "attn/keras/optimizer.h"
#include "attn/open/execution.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/run/memory.h"
#include "attn/train/archive.h"
#include "attn/train/compile_changes.h"
#include "attn/train/trained_model.h"
#include "attn/train/trainer.h"

namespace attn::train {
namespace {

double distance(const Tensor& a, const Tensor& b) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double difference = a.at(i) - b.at(i);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

bool trains_floats(const graph::Graph& graph) {
  return std::ranges::all_of(
      graph.weights, [](const graph::WeightSpec& spec) { return !spec.trainable || spec.dtype == DType::float32; });
}

/// Returns the arrays of the data; the trainer draws random numbers itself.
Batch arrays_of(const keras::LossGraph& lowered, const std::vector<Tensor>& inputs) {
  std::set<graph::ValueId> draws;
  for (const keras::LossGraph::Draw& draw : lowered.draws) draws.insert(draw.value);
  Batch out;
  for (std::size_t i = 0; i < lowered.graph.inputs.size(); ++i)
    if (const graph::ValueId id = lowered.graph.inputs[i]; !draws.contains(id))
      out.emplace(lowered.graph.value(id).name, inputs[i]);
  return out;
}

/// Takes over the optimizer's variables if the archive has the right number of them.
void take_over(const open::LoadedModel& loaded, const open::Execution& execution, optimizers::Optimizer& optimizer) {
  if (execution.weights) return;
  const std::vector<Tensor> state = optimizer_state_of(loaded);
  if (state.size() == optimizer.state().size()) optimizer.set_state(state);
}

}  // namespace

std::map<std::string, double> update_norms(const open::LoadedModel& loaded, const keras::LossGraph& lowered,
                                           const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights,
                                           const backends::Backend& backend, const open::Execution& execution,
                                           const open::Listener& listener) {
  const std::optional<std::string> compiled = loaded.model.compile_config();
  if (!compiled || !trains_floats(lowered.graph)) return {};
  try {
    optimizers::Settings settings = keras::compiled_optimizer(*compiled);
    if (is_mixed_float16(lowered.graph) && !settings.loss_scale) settings.loss_scale.emplace();
    TrainerOptions how;
    how.compile = execution.compile_options();
    const auto lower = [&](const Batch&, bool) { return lowered; };
    Trainer trainer(backend, lower, lowered.graph.weights, weights, settings, how);
    const Batch batch = arrays_of(lowered, inputs);
    run::require_memory("a step takes", static_cast<UInt128>(trainer.memory_needed(batch)),
                        open::memory_limit(execution.memory_limit));
    trainer.prepare(batch);
    take_over(loaded, execution, trainer.optimizer());
    const StepResult result = trainer.step(batch);
    if (!result.not_finite.empty() || result.skipped) return {};
    std::map<std::string, double> out;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (const graph::WeightSpec& spec = lowered.graph.weights[i]; spec.trainable)
        out[spec.path] = distance(trainer.weights()[i], weights[i]);
    return out;
  } catch (const Error& error) {
    listener.note(fmt::format("the size of the optimizer's step could not be computed: {}", error.what()));
    return {};
  }
}

}  // namespace attn::train
