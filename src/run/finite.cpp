#include "attn/run/finite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "attn/base/finite.h"
#include "attn/run/layer_arrays.h"
#include "producers.h"

namespace attn::run {
namespace {

using graph::at;
using graph::Graph;
using graph::kNone;
using graph::LayerId;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;

std::vector<std::int64_t> index_of(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0; element /= shape[axis])
    index[static_cast<std::size_t>(axis)] = element % shape[axis];
  return index;
}

/// Returns the counts of NaN and infinities in a tensor; empty if all elements are finite.
std::optional<NonFinite> count_non_finite(const std::string& name, const Tensor& tensor) {
  if (all_finite(tensor)) return std::nullopt;
  NonFinite found{name, tensor.dtype(), tensor.shape(), 0, 0, {}, 0};
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.at(i);
    if (std::isfinite(value)) continue;
    if (found.nan_count + found.inf_count == 0) {
      found.first_index = index_of(i, tensor.shape());
      found.first_value = value;
    }
    ++(std::isnan(value) ? found.nan_count : found.inf_count);
  }
  return found;
}

class Checker {
 public:
  Checker(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> weights,
          const std::vector<LayerOutput>& outputs)
      : graph_(graph),
        inputs_(inputs),
        weights_(weights),
        arrays_(layer_arrays(graph, outputs)),
        origins_(graph),
        tainted_(graph.values.size(), false),
        tainted_input_(graph.layers.size(), false),
        read_weights_(graph.layers.size()) {}

  FiniteCheck run() {
    check_inputs();
    check_outputs();
    for (const Node& node : graph_.nodes) follow(node);
    find_sources();
    return std::move(check_);
  }

 private:
  void check_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      auto found = count_non_finite(graph_.value(graph_.inputs[i]).name, inputs_[i]);
      if (!found) continue;
      tainted_[at(graph_.inputs[i])] = true;
      check_.inputs.push_back(std::move(*found));
    }
  }

  void check_outputs() {
    for (const LayerArray& array : arrays_) {
      if (!is_floating(array.from.tensor.dtype())) continue;
      ++check_.checked;
      const ValueId value = array.from.value;
      seen_[value] = false;
      auto found = count_non_finite(graph_.layers[at(array.from.layer)].name, array.from.tensor);
      if (!found) continue;
      seen_[value] = true;
      found_.push_back(&array.from);
      check_.outputs.push_back({std::move(*found), array.class_name, array.call, array.from.output, false, {}});
    }
  }

  // The result of a node is tainted if NaN was seen in it, or if it was not checked and reads a tainted value.
  void follow(const Node& node) {
    bool reads_tainted = false;
    for (const ValueId input : node.inputs) {
      const graph::Value& value = graph_.value(input);
      reads_tainted = reads_tainted || tainted_[at(input)];
      for (LayerId layer = node.layer; layer != kNone; layer = graph_.layers[at(layer)].parent) {
        if (value.kind == ValueKind::weight) read_weights_[at(layer)].insert(value.weight);
        if (tainted_[at(input)] && !origins_.is_made_in(input, layer)) tainted_input_[at(layer)] = true;
      }
    }
    for (const ValueId output : node.outputs) {
      const auto seen = seen_.find(output);
      tainted_[at(output)] = seen == seen_.end() ? reads_tainted : seen->second;
    }
  }

  void find_sources() {
    std::set<LayerId> around;  // layers that contain a source are not sources
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const LayerId layer = found_[i]->layer;
      if (tainted_input_[at(layer)] || around.contains(layer) || !origins_.is_made_in(found_[i]->value, layer))
        continue;
      NonFiniteOutput& output = check_.outputs[i];
      output.source = true;
      for (LayerId outer = graph_.layers[at(layer)].parent; outer != kNone; outer = graph_.layers[at(outer)].parent)
        around.insert(outer);
      for (const std::int32_t weight : read_weights_[at(layer)])
        if (auto found = count_non_finite(graph_.weights[at(weight)].path, weights_[at(weight)]))
          output.weights.push_back(std::move(*found));
    }
  }

  const Graph& graph_;
  std::span<const Tensor> inputs_, weights_;
  const std::vector<LayerArray> arrays_;
  const Producers origins_;
  FiniteCheck check_;
  std::vector<const LayerOutput*> found_;             // indices as in check_.outputs
  std::map<ValueId, bool> seen_;                      // the checked outputs of layers: true if not finite
  std::vector<bool> tainted_;                         // whether a value is tainted, by value
  std::vector<bool> tainted_input_;                   // whether a value from outside the layer is tainted
  std::vector<std::set<std::int32_t>> read_weights_;  // the weights that a layer reads, by layer
};

}  // namespace

const NonFiniteOutput* FiniteCheck::source() const {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [](const auto& output) { return output.source; });
  return found == outputs.end() ? nullptr : &*found;
}

FiniteCheck check_finite(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> weights,
                         const std::vector<LayerOutput>& outputs) {
  return Checker(graph, inputs, weights, outputs).run();
}

}  // namespace attn::run
