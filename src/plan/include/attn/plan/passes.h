// Rewrites of a graph that keep what it computes: graph in, graph out.
//
// All of them keep the ids of values, the graph's inputs and weights, and the type of every output. A value that a pass
// makes needless stays in Graph::values without a node; it is dropped from Layer::outputs. A node that takes over the
// work of another keeps its own layer.
#pragma once

#include <functional>

#include "attn/graph/graph.h"

namespace attn::plan {

/// Without the nodes that no output, no scores, no state and no other rank need, and without attention's probabilities
/// and logarithms that nothing reads.
[[nodiscard]] graph::Graph remove_dead(graph::Graph graph);

/// Without what changes nothing: a Cast to the dtype at hand or there and back through a wider one, a Reshape or
/// Transpose to the shape or order at hand, a Cast or Reshape that is there already; Reshapes and Transposes in a row
/// become one.
[[nodiscard]] graph::Graph fold_identities(graph::Graph graph);

/// Linear, QuantizedLinear or Conv, then Unary becomes the activation of the first, where nothing else reads what lies
/// between and `can_fuse` (what the backend's kernels take) agrees.
[[nodiscard]] graph::Graph fuse_activation(graph::Graph graph,
                                           const std::function<bool(const graph::Unary&)>& can_fuse);

/// Linear or QuantizedLinear, then add becomes the residual of the first, where nothing else reads what lies between,
/// it has no activation, and the other summand is of the same shape and ready before it.
[[nodiscard]] graph::Graph fuse_residual(graph::Graph graph);

/// LayerNorm between a Cast of half precision to float32 and one back becomes LayerNorm of half precision, with gamma
/// and beta in float32. For backends whose kernels work in float32 inside.
[[nodiscard]] graph::Graph narrow_norms(graph::Graph graph);

/// The three Linears that make query, key and value of one Attention from one value become one Linear, whose kernel and
/// bias are those of the three side by side, and Attention takes what it makes as one packed input. Only where nothing
/// else reads what lies between, and heads of key and value are of one size. So do three QuantizedLinears of bytes with
/// a scale for each column, which quantize what they read once then.
[[nodiscard]] graph::Graph pack_projections(graph::Graph graph);

/// The array (B, S), not 0 where a position counts, that the masks of the first self-attention are made of which has no
/// other masks. Throws Error (bad_input) where there is none.
[[nodiscard]] graph::ValueId padding_mask(const graph::Graph& graph);

/// Computes what follows from attention for the `rows` positions alone that `mask` does not hide, one behind the other
/// as (1, rows, …). The graph gets three int32 inputs: "padding/rows" (rows) with the index in B·S of each,
/// "padding/places" (B, S) with the row of each position (of those that are hidden, any), and "padding/starts" (B+1)
/// with each sequence's first row. Outputs are 0 in the place of padding. Throws Error (bad_input), naming the layer,
/// where something but an output, a product with the mask or a slice reads what padding would be. The graph's products
/// are to be Linears (simplify_einsum).
[[nodiscard]] graph::Graph skip_padding(graph::Graph graph, graph::ValueId mask, Dim rows);

/// An Einsum of two inputs that is a matrix product, perhaps over batches, becomes Linear (where one of them depends on
/// weights alone) or MatMul, between the Transposes and Reshapes that this takes. Others stay, as do those of unknown
/// shapes.
[[nodiscard]] graph::Graph simplify_einsum(graph::Graph graph);

/// A Conv whose windows lie side by side and cover its input, as those of an image's patches and of a window of one do,
/// becomes Linear behind the Reshape and Transpose that this takes.
[[nodiscard]] graph::Graph simplify_conv(graph::Graph graph);

}  // namespace attn::plan
