#include "training_program.h"

#include <algorithm>
#include <map>
#include <set>

#include "attn/gradients/gradients.h"
#include "attn/gradients/passes.h"
#include "attn/parallel/buckets.h"
#include "attn/parallel/parallelize.h"
#include "attn/parallel/parts.h"
#include "attn/plan/passes.h"

namespace attn::train {

using graph::at;
using graph::ValueId;

std::unique_ptr<TrainingProgram> ProgramPlanner::plan(keras::LossGraph lowered, Dim rows, Purpose purpose) const {
  auto program = std::make_unique<TrainingProgram>();
  program->model = std::move(lowered);
  graph::Graph graph = std::exchange(program->model.graph, {});
  const keras::LossGraph& model = program->model;

  std::vector<ValueId> value_of(graph.weights.size(), graph::kNone);
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].kind == graph::ValueKind::weight)
      value_of[at(graph.values[i].weight)] = static_cast<ValueId>(i);
  for (std::size_t i = 0; i < value_of.size(); ++i)
    if (value_of[i] != graph::kNone) program->weights.push_back(i);

  std::vector<ValueId> wanted;
  for (const std::size_t i : trainable_) wanted.push_back(value_of[i]);
  graph.outputs = {{"loss", model.loss}};
  graph.scores.clear();
  for (const auto& term : model.terms) graph.outputs.push_back({term.name, term.value});
  for (const auto& metric : model.metrics) {
    for (const ValueId id : {metric.total, metric.count})
      if (id != graph::kNone) graph.outputs.push_back({metric.name, id});
  }
  if (purpose == Purpose::diagnosis) {
    for (const graph::Layer& layer : graph.layers)
      for (const ValueId id : layer.outputs)
        if (is_floating(graph.value(id).dtype)) program->layers.emplace_back(id, layer.name);
    for (const auto& [id, name] : program->layers) graph.outputs.push_back({"", id});
  }
  graph = gradients::in_half_steps(std::move(graph));
  if (purpose == Purpose::step) {
    for (const auto& update : model.updates) graph.outputs.push_back({"", update.value});
    // The gradient of a product is a product, so these simplifications apply to it.
    graph = plan::simplify_conv(plan::simplify_einsum(std::move(graph)));
    ValueId loss = model.loss;
    ValueId scale = graph::kNone;
    if (settings_.loss_scale_factor || settings_.loss_scale) {
      graph::Builder b(graph);
      scale = b.input(kLossScaleInput, b.dtype(loss), {});
      loss = b.binary(graph::BinaryFn::multiply, loss, scale);
    }
    gradients::Differentiated backward = gradients::differentiate(std::move(graph), loss, wanted);
    graph = std::move(backward.graph);
    EntryOptions of_entries;
    of_entries.sizes = std::holds_alternative<optimizers::Adamax>(settings_.rule);
    if (settings_.clipvalue) {
      graph::Builder b(graph);
      of_entries.limit = b.scalar_like(loss, *settings_.clipvalue);
      if (scale != graph::kNone) of_entries.limit = b.binary(graph::BinaryFn::multiply, of_entries.limit, scale);
    }
    for (const ValueId gradient : backward.gradients) {
      EntrySums sums{gradient};
      const bool entries = options_.tables == TableGradient::entries && !settings_.gradient_accumulation_steps;
      if (gradient != graph::kNone && entries) sums = entry_sums(graph, gradient, of_entries).value_or(sums);
      for (const ValueId id : {sums.sum, sums.squares, sums.sizes})
        if (id != graph::kNone) graph.outputs.push_back({"", id});
      program->gradients.push_back(sums);
    }
    if (options_.recompute) graph = gradients::recompute(std::move(graph), backward.forward);
  }
  if (splits_batch(rows)) parallelize_step(*program, graph, rows);
  program->plan = plan::make_plan(backend_.optimize(gradients::release_weights(std::move(graph))));
  program->graph = program->plan.graph;
  program->shown.values = program->graph.values;
  program->shown.inputs.assign(program->graph.inputs.begin(),
                               program->graph.inputs.end() - static_cast<std::ptrdiff_t>(program->weights.size()));
  return program;
}

/// Ranks compute a batch together if each of them gets at least one row. Otherwise every rank computes the whole batch,
/// also if it cannot be split in two.
bool ProgramPlanner::splits_batch(Dim rows) const {
  const communicators::Communicator* const ranks = options_.compile.ranks;
  if (options_.parts > 0) return rows > 1;
  return ranks != nullptr && ranks->size() > 1 && rows >= ranks->size();
}

parallel::Parallel ProgramPlanner::parts_of(const graph::Graph& graph, Dim rows) const {
  const communicators::Communicator* const ranks = options_.compile.ranks;
  const auto parts = static_cast<int>(std::min<Dim>(options_.parts, rows));
  return parallel::share_parts(graph, parts, ranks == nullptr ? 0 : ranks->rank(),
                               ranks == nullptr ? 1 : ranks->size());
}

parallel::Parallel ProgramPlanner::rows_of_rank(const TrainingProgram& program, const graph::Graph& graph) const {
  const communicators::Communicator& ranks = *options_.compile.ranks;
  parallel::Parallel local = parallel::parallelize(graph, parallel::Kind::data, ranks.rank(), ranks.size());
  parallel::RoundedSums rounded;
  rounded.dtype = options_.reduce_dtype;
  if (rounded.dtype != DType::float32) {
    std::set<ValueId> gradients;
    for (const EntrySums& sums : program.gradients)
      for (std::size_t i = 0; i < graph.outputs.size(); ++i)
        if (graph.outputs[i].value == sums.sum) gradients.insert(local.graph.outputs[i].value);
    rounded.sums = parallel::sums_reaching_only(local.graph, gradients);
  }
  local.graph = parallel::bucket_sums(std::move(local.graph), parallel::kBucketBytes, rounded);
  return local;
}

/// Rewrites the graph for this rank: its own rows of the batch, with an all-reduce wherever one rank would sum over all
/// rows.
void ProgramPlanner::parallelize_step(TrainingProgram& program, graph::Graph& graph, Dim rows) const {
  parallel::Parallel local = options_.parts > 0 ? parts_of(graph, rows) : rows_of_rank(program, graph);
  std::map<ValueId, ValueId> now;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) now[graph.outputs[i].value] = local.graph.outputs[i].value;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) now[graph.inputs[i]] = local.graph.inputs[i];
  const auto move = [&](ValueId& id) {
    if (id != graph::kNone) id = now.at(id);
  };
  move(program.model.loss);
  for (auto& term : program.model.terms) move(term.value);
  for (auto& metric : program.model.metrics) {
    move(metric.total);
    move(metric.count);
  }
  for (auto& update : program.model.updates)
    if (now.contains(update.value)) move(update.value);
  for (auto& draw : program.model.draws) move(draw.value);
  for (EntrySums& sums : program.gradients)
    for (ValueId* const id : {&sums.sum, &sums.squares, &sums.sizes}) move(*id);
  program.weights.clear();
  for (const parallel::LocalWeight& weight : local.weights) program.weights.push_back(at(weight.weight));
  graph = std::move(local.graph);
}

}  // namespace attn::train
