#include "attn/probe/sweep.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "attn/base/error.h"
#include "attn/base/rows.h"
#include "attn/probe/edits.h"
#include "data_flow.h"

namespace attn::probe {
namespace {

using graph::ValueId;

constexpr std::int64_t kMostRows = 32;
/// The logits of a batch of copies take at most this.
constexpr std::int64_t kLogitBytes = std::int64_t{32} << 20;

/// Keeps only the last position of a value (B,T,D), behind which all operations treat positions alike.
graph::Graph last_position(graph::Graph graph, ValueId value) {
  const Shape whole = graph.value(value).shape;
  graph::Slice last;
  last.ranges = {{}, {whole[1] - 1, whole[1], 1}, {}};
  const graph::Graph before = graph;
  graph = scale(std::move(graph), value, 1.0);
  const auto result = static_cast<ValueId>(graph.values.size() - 1);
  bool behind = false;
  for (graph::Node& node : graph.nodes) {
    if (node.outputs.front() == result) {
      node.op = last;
      node.inputs = {value};
      behind = true;
    }
    if (!behind) continue;
    std::vector<graph::TensorType> types;
    for (const ValueId input : node.inputs) types.push_back({graph.value(input).dtype, graph.value(input).shape});
    try {
      const std::vector<graph::TensorType> results = graph::infer(node.op, types);
      for (std::size_t i = 0; i < results.size(); ++i) graph.value(node.outputs[i]).shape = results[i].shape;
    } catch (const Error&) {  // an operation that fixes the number of positions
      return before;
    }
  }
  return graph;
}

void copy_bytes(const Tensor& from, const Tensor& to, std::int64_t at) {
  if (from.bytes() > 0) std::memcpy(to.data() + at, from.data(), static_cast<std::size_t>(from.bytes()));
}

/// Returns the value of one row, repeated to the shape of several.
Tensor repeated(const Tensor& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  Tensor out(value.dtype(), shape);
  if (value.bytes() == 0 || out.bytes() % value.bytes() != 0 || value.shape().rank() != shape.rank())
    throw internal_error("a value of shape {} has the shape {} in a batch", value.shape().str(), shape.str());
  for (std::int64_t at = 0; at < out.bytes(); at += value.bytes()) copy_bytes(value, out, at);
  return out;
}

/// Returns logits without the batch: (T,V), or (1,V).
Tensor positions_of(const Tensor& logits, std::int64_t row, std::int64_t rows, LogitPositions wanted) {
  const std::int64_t width = logits.shape().back(), positions = logits.size() / width / rows;
  const std::int64_t first = wanted == LogitPositions::last_position ? positions - 1 : 0;
  return rows_view(logits.reshaped({rows * positions, width}), row * positions + first, positions - first);
}

}  // namespace

Sweep::Sweep(const Subject& subject, Lowered lowered, Prompt prompt, std::vector<ValueId> sites, LogitPositions wanted,
             const std::vector<ValueId>& others)
    : subject_(subject), lowered_(std::move(lowered)), prompt_(std::move(prompt)), wanted_(wanted) {
  const DataFlow flow(lowered_.graph);
  std::set<ValueId> needed(sites.begin(), sites.end());
  needed.insert(others.begin(), others.end());
  needed.insert(lowered_.points.logits);
  for (const ValueId site : sites) {
    frontiers_[site] = flow.frontier(site);
    needed.insert(frontiers_[site].begin(), frontiers_[site].end());
  }
  const std::vector<ValueId> all(needed.begin(), needed.end());
  values_ = subject.run(lowered_, prompt_, all);
  logits_ = positions_of(values_.at(lowered_.points.logits), 0, 1, wanted);
}

graph::Graph Sweep::behind(ValueId site, std::int64_t rows) const {
  Lowered lowered = subject_.lower(rows, prompt_);
  if (lowered.graph.nodes.size() != lowered_.graph.nodes.size())
    throw internal_error("a batch of {} has other operations", rows);
  graph::Graph graph = std::move(lowered.graph);
  graph.outputs.clear();
  graph = capture(std::move(graph), lowered.points.logits, "logits");
  graph = replace(std::move(graph), site);
  for (const ValueId value : frontiers_.at(site)) graph = replace(std::move(graph), value);
  if (wanted_ == LogitPositions::last_position && lowered.points.final_norm != graph::kNone &&
      site != lowered.points.final_norm)
    graph = last_position(std::move(graph), lowered.points.final_norm);
  return graph;
}

void Sweep::run(ValueId site, std::int64_t copies, const Fill& fill, const Visit& visit) const {
  const std::int64_t bytes =
      wanted_ == LogitPositions::last_position ? logits_.bytes() : values_.at(lowered_.points.logits).bytes();
  std::int64_t rows =
      std::min({copies, kMostRows, std::max<std::int64_t>(1, kLogitBytes / std::max<std::int64_t>(bytes, 1))});
  graph::Graph graph = behind(site, rows);
  while (rows > 1 && !subject_.fits(graph)) graph = behind(site, rows = (rows + 1) / 2);
  std::vector<Tensor> arrays = subject_.inputs(graph, std::vector<Prompt>(static_cast<std::size_t>(rows), prompt_));
  const std::vector<ValueId>& frontier = frontiers_.at(site);
  const std::size_t at_site = arrays.size() - 1 - frontier.size();
  for (std::size_t i = 0; i < frontier.size(); ++i) {
    Tensor& array = arrays[at_site + 1 + i];
    array = repeated(values_.at(frontier[i]), array.shape());
  }
  const Tensor& value = values_.at(site);
  const std::unique_ptr<run::Session> session = subject_.compile(std::move(graph));
  for (std::int64_t from = 0; from < copies; from += rows) {
    const std::int64_t count = std::min(rows, copies - from);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Tensor place = rows_view(arrays[at_site], row, 1);
      copy_bytes(value, place, 0);
      if (row < count) fill(from + row, place);
    }
    session->run(arrays);
    const Tensor logits = session->outputs().front().tensor;
    for (std::int64_t row = 0; row < count; ++row) visit(from + row, positions_of(logits, row, rows, wanted_));
  }
}

}  // namespace attn::probe
