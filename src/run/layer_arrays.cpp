#include "attn/run/layer_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "producers.h"

namespace attn::run {

std::vector<LayerArray> layer_arrays(const graph::Graph& graph, const std::vector<LayerOutput>& outputs) {
  const Producers origins(graph);
  std::map<std::string, int> calls;
  std::vector<int> call_of;
  for (const graph::Layer& layer : graph.layers) call_of.push_back(calls[layer.name]++);

  std::vector<LayerArray> out;
  for (const LayerOutput& output : outputs) {
    const auto id = static_cast<std::size_t>(output.layer);
    const graph::Layer& layer = graph.layers[id];
    const int call = call_of[id];
    std::string name = layer.name;
    if (call > 0 || output.output > 0) name += fmt::format("[{}][{}]", call, output.output);
    out.push_back({std::move(name), layer.class_name, call, output});
  }
  const auto key = [&](const LayerArray& array) {
    const bool passes_on = !origins.is_made_in(array.from.value, array.from.layer);
    return std::tuple(origins.producer(array.from.value), passes_on, passes_on ? array.from.layer : -array.from.layer);
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return out;
}

}  // namespace attn::run
