#include "attn/run/padding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/plan/passes.h"
#include "attn/run/session.h"

namespace attn::run {
namespace {

graph::Graph simplified(graph::Graph graph) {
  return plan::remove_dead(plan::fold_identities(plan::simplify_einsum(std::move(graph))));
}

/// Computes the mask for these inputs on the reference backend.
Tensor compute_mask(graph::Graph graph, graph::ValueId mask, std::span<const Tensor> inputs) {
  graph.outputs = {{"mask", mask}};
  graph.scores.clear();
  graph = plan::remove_dead(std::move(graph));
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId id : node.inputs) {
      if (graph.value(id).kind == graph::ValueKind::weight)
        throw bad_input("the padding mask depends on the weight '{}'", graph.value(id).name);
    }
  }
  graph.weights.clear();
  for (graph::Value& value : graph.values) {
    if (value.kind == graph::ValueKind::weight)
      value.kind = graph::ValueKind::computed;  // never computed: these nodes do
                                                // not run
  }
  const auto backend = backends::make_reference_backend();
  Session session(*backend, std::move(graph), {}, {.threads = 1});
  session.run(inputs);
  return session.outputs().front().tensor.cast(DType::boolean);
}

}  // namespace

Unpadded skip_padding(graph::Graph graph, std::span<const Tensor> inputs) {
  graph = simplified(std::move(graph));
  const graph::ValueId id = plan::padding_mask(graph);
  const Tensor mask = compute_mask(graph, id, inputs);
  const Dim B = mask.shape()[0], S = mask.shape()[1];

  Unpadded out;
  out.positions = mask.size();
  for (std::int64_t i = 0; i < mask.size(); ++i) out.rows += mask.at(i) != 0.0 ? 1 : 0;
  const Dim rows = std::max<Dim>(out.rows, 1);  // an output without rows gets one, which no sequence reads
  Tensor row_ids(DType::int32, Shape{rows}), places(DType::int32, Shape{B, S}), starts(DType::int32, Shape{B + 1});
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (i % S == 0) starts.set(i / S, static_cast<double>(row));
    if (mask.at(i) == 0.0) continue;
    row_ids.set(row, static_cast<double>(i));
    places.set(i, static_cast<double>(row++));
  }
  starts.set(B, static_cast<double>(row));

  out.graph = plan::skip_padding(std::move(graph), id, rows);
  out.inputs.assign(inputs.begin(), inputs.end());
  for (Tensor& tensor : {std::ref(row_ids), std::ref(places), std::ref(starts)}) out.inputs.push_back(tensor);
  return out;
}

void pad_randomly(const graph::Graph& graph, std::span<Tensor> inputs, double mean, std::uint64_t seed) {
  const graph::Graph simple = simplified(graph);
  const graph::ValueId mask = plan::padding_mask(simple);
  // Finds the single input (B, S) that the mask is computed from.
  std::vector<bool> needed(simple.values.size(), false);
  needed[static_cast<std::size_t>(mask)] = true;
  for (std::size_t i = simple.nodes.size(); i-- > 0;) {
    const graph::Node& node = simple.nodes[i];
    if (!needed[static_cast<std::size_t>(node.outputs[0])]) continue;
    for (const graph::ValueId id : node.inputs) needed[static_cast<std::size_t>(id)] = true;
  }
  Tensor* source = nullptr;
  for (std::size_t i = 0; i < simple.inputs.size(); ++i) {
    const graph::ValueId id = simple.inputs[i];
    if (!needed[static_cast<std::size_t>(id)] || simple.value(id).shape != simple.value(mask).shape) continue;
    if (source != nullptr) throw bad_input("the padding mask is computed from several inputs");
    source = &inputs[i];
  }
  if (source == nullptr) throw bad_input("the padding mask is not computed from an input (batch, length)");

  RandomStream stream(seed, "lengths");
  const double low = std::max(0.0, 2.0 * mean - 1.0), high = std::min(1.0, 2.0 * mean);
  const Dim B = source->shape()[0], S = source->shape()[1];
  for (Dim b = 0; b < B; ++b) {
    const double share = low + (high - low) * stream.uniform();
    const auto length = std::max<Dim>(1, std::llround(share * static_cast<double>(S)));
    for (Dim s = std::min(length, S); s < S; ++s) source->set(b * S + s, 0.0);
  }
}

}  // namespace attn::run
