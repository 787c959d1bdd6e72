#include "attn/library/costs.h"

#include <algorithm>
#include <set>

#include "attn/open/memory.h"
#include "attn/plan/plan.h"

namespace attn::library {
namespace {

using graph::at;
using report::CostRow;
using report::Count;

constexpr std::int32_t kNone = graph::kNone;

Count bytes_of(const graph::Value& value) { return value.shape.count() * Count(attn::bytes_of(value.dtype)); }

void add_bytes(std::vector<report::DTypeBytes>& list, DType dtype, Count bytes) {
  auto it = std::lower_bound(list.begin(), list.end(), dtype, [](const auto& a, DType b) { return a.dtype < b; });
  if (it == list.end() || it->dtype != dtype) it = list.insert(it, {dtype, 0});
  it->bytes += bytes;
}

void add(CostRow& row, const CostRow& more) {
  row.params += more.params;
  row.trainable_params += more.trainable_params;
  for (const report::DTypeBytes& bytes : more.weight_bytes) add_bytes(row.weight_bytes, bytes.dtype, bytes.bytes);
  row.flops += more.flops;
  row.hidden_flops += more.hidden_flops;
  row.activation_bytes += more.activation_bytes;
  row.score_bytes += more.score_bytes;
}

CostRow row_of(const keras::Part& part, const graph::Graph& graph) {
  CostRow row;
  row.name = part.name;
  row.class_name = part.class_name;
  row.level = part.level;
  row.nested = part.nested;
  row.rest = part.rest;
  row.output_shapes = part.output_shapes;
  for (std::size_t i = 0; i < part.weights.size(); ++i) {
    const graph::WeightSpec& spec = graph.weights[at(part.weights[i])];
    const Count params = spec.shape.count(), bytes = params * Count(attn::bytes_of(spec.dtype));
    row.variables.push_back({part.weight_names[i], spec.shape, spec.dtype, spec.trainable, params, bytes});
    row.params += params;
    if (spec.trainable) row.trainable_params += params;
    add_bytes(row.weight_bytes, spec.dtype, bytes);
  }
  return row;
}

/// Adds FLOPs and bytes of the steps, by layer.
void add_steps(report::CostReport& report, keras::Anatomy anatomy, const keras::Owners& owners) {
  std::set<graph::ValueId> scores;
  for (const graph::Scores& of_layer : anatomy.graph.scores) scores.insert(of_layer.value);
  for (const graph::Node& node : anatomy.graph.nodes)
    for (const graph::ValueId output : node.outputs)
      if (const std::int32_t part = owners.of(node); part != kNone && scores.contains(output))
        report.rows[at(part)].score_bytes += bytes_of(anatomy.graph.value(output));

  report.batch = open::batch_of(anatomy.graph);
  report.seq_len = open::sequence_length_of(anatomy.graph);
  // Removes the scores, because a normal pass does not store them.
  anatomy.graph.scores.clear();
  const plan::Plan plan = plan::make_plan(std::move(anatomy.graph));
  report.peak = {plan.weight_bytes, plan.prepared_bytes, plan.input_bytes, plan.arena_bytes};
  for (const graph::NodeId id : plan.steps) {
    const graph::Node& node = plan.graph.nodes[at(id)];
    const std::int32_t part = owners.of(node);
    CostRow& row = part == kNone ? report.total : report.rows[at(part)];
    const Count all = graph::flops(plan.graph, node, graph::HiddenPairs::counted);
    row.flops += all;
    row.hidden_flops += all - graph::flops(plan.graph, node);
    for (const graph::ValueId output : node.outputs) row.activation_bytes += bytes_of(plan.graph.value(output));
  }
}

}  // namespace

report::CostReport costs_of(const keras::Model& model, const keras::LowerOptions& options) {
  keras::LowerOptions with_scores = options;
  with_scores.scores = true;
  keras::Anatomy anatomy = model.anatomy(with_scores);
  report::CostReport report;
  for (const keras::Part& part : anatomy.parts) report.rows.push_back(row_of(part, anatomy.graph));
  const keras::Owners owners(anatomy);
  if (!options.symbolic) add_steps(report, std::move(anatomy), owners);

  // Adds each row to the enclosing row, starting with the innermost.
  for (std::size_t i = report.rows.size(); i-- > 0;) {
    const std::int32_t around = owners.parent(static_cast<std::int32_t>(i));
    add(around == kNone ? report.total : report.rows[at(around)], report.rows[i]);
  }
  std::erase_if(report.rows,
                [](const CostRow& row) { return row.rest && row.flops == 0 && row.activation_bytes == 0; });
  return report;
}

}  // namespace attn::library
