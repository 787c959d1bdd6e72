#include <variant>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "kernels.h"

namespace attn::backends {

void evaluate(const graph::Node& node, const graph::Graph& graph, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs, communicators::Communicator* ranks) {
  try {
    if (graph::is_collective(node.op) && ranks == nullptr) {
      const auto alone = communicators::make_self();
      return evaluate(node, graph, inputs, outputs, alone.get());
    }
    if (ranks != nullptr && node.layer != graph::kNone)
      ranks->describe_next(graph.layers[static_cast<std::size_t>(node.layer)].name);
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { reference::compute(op, inputs, outputs, *ranks); })
            reference::compute(op, inputs, outputs, *ranks);
          else
            reference::compute(op, inputs, outputs);
        },
        node.op);
  } catch (const Error& error) {
    if (node.layer == graph::kNone) throw;
    const std::string& layer = graph.layers[static_cast<std::size_t>(node.layer)].name;
    throw Error(error.code(), fmt::format("layer '{}': {}", printable(layer), error.what())).about(error.field());
  }
}

}  // namespace attn::backends
