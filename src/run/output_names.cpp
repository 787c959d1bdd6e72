#include "attn/run/output_names.h"

#include <fmt/format.h>

#include <set>

namespace attn::run {

OutputNames output_names(const graph::Graph& lowered) {
  for (std::size_t i = 0; i < lowered.outputs.size(); ++i)
    if (lowered.outputs[i].name != fmt::format("output_{}", i)) return {};
  OutputNames out;
  std::set<std::string> taken;
  for (const graph::Output& output : lowered.outputs) {
    const std::string& layer = output.layer.empty() ? output.name : output.layer;
    std::string name = layer;
    for (int n = 1; !taken.insert(name).second; ++n) name = fmt::format("{}[{}]", layer, n);
    out.emplace(output.name, name);
  }
  return out;
}

}  // namespace attn::run
