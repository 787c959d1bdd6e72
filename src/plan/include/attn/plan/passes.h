// Graph passes that preserve the computed results: graph in, graph out.
//
// All of them keep the ids of values, the graph's inputs and weights, and the type of every output. A value that
// becomes unused stays in Graph::values without a node, and is dropped from Layer::outputs. A node that replaces others
// keeps its own layer.
#pragma once

#include <functional>

#include "attn/graph/graph.h"

namespace attn::plan {

/// Removes nodes that no output, scores, state or other rank needs, and unread probabilities and log-sum-exp of
/// attention.
[[nodiscard]] graph::Graph remove_dead(graph::Graph graph);

/// Removes no-ops: a Cast to the same dtype or there and back through a wider one, a Reshape or
/// Transpose that changes nothing, a duplicate Cast or Reshape. Merges consecutive Reshapes and
/// Transposes.
[[nodiscard]] graph::Graph fold_identities(graph::Graph graph);

/// Fuses a Unary into the activation of a Linear, QuantizedLinear or Conv. Requires that nothing else reads the value
/// between them, and that `can_fuse` (what the backend's kernels support) returns true.
[[nodiscard]] graph::Graph fuse_activation(graph::Graph graph,
                                           const std::function<bool(const graph::Unary&)>& can_fuse);

/// Fuses an addition into the residual of a Linear or QuantizedLinear. Requires that nothing else reads the value
/// between them, and that there is no activation. The other summand must have the same shape and precede the node.
[[nodiscard]] graph::Graph fuse_residual(graph::Graph graph);

/// Turns a LayerNorm between a Cast from half precision to float32 and one back into a LayerNorm in half precision,
/// with gamma and beta in float32. For backends whose kernels compute in float32 internally.
[[nodiscard]] graph::Graph narrow_norms(graph::Graph graph);

/// Packs the three Linears that make query, key and value of one Attention from one value into one Linear, with
/// concatenated kernels and biases. Attention takes the result as one packed input. Requires that nothing else reads
/// the values between, and that heads of key and value have the same size. Three int8 QuantizedLinears with per-column
/// scales are packed too, and then quantize their input once.
[[nodiscard]] graph::Graph pack_projections(graph::Graph graph);

/// Returns the array (B, S), non-zero at valid positions, from which the masks of the first self-attention without
/// other masks are made. Throws Error (bad_input) if there is none.
[[nodiscard]] graph::ValueId padding_mask(const graph::Graph& graph);

/// Computes everything that depends on attention only for the `rows` positions that `mask` does not hide, concatenated
/// as (1, rows, …). The graph gets three int32 inputs. "padding/rows" (rows) contains the index in B·S of each row.
/// "padding/places" (B, S) contains the row of each position (any row for hidden ones), "padding/starts" (B+1) the
/// first row of each sequence. Outputs are 0 at padding. Throws Error (bad_input), naming the layer, if padding is read
/// by anything but an output, a product with the mask or a slice. The graph's products must be Linears
/// (simplify_einsum).
[[nodiscard]] graph::Graph skip_padding(graph::Graph graph, graph::ValueId mask, Dim rows);

/// Turns an Einsum of two inputs that is a matrix product, possibly batched, into Linear or MatMul, with the necessary
/// Transposes and Reshapes. It becomes a Linear if one operand depends only on weights. Other Einsums are kept, as are
/// those of unknown shapes.
[[nodiscard]] graph::Graph simplify_einsum(graph::Graph graph);

/// Turns a Conv whose windows tile its input into Linear, with the necessary Reshape and Transpose. Examples are the
/// windows of image patches, and windows of one cell.
[[nodiscard]] graph::Graph simplify_conv(graph::Graph graph);

}  // namespace attn::plan
