// The blocks of a transformer in a graph: attentions, MLPs, and the residual stream between them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::probe {

/// An attention and the values around it; kNone for a value that the layer does not have.
struct AttentionPart {
  graph::ValueId q = graph::kNone, k = graph::kNone, v = graph::kNone;  ///< projections with bias, before rotary
  graph::ValueId values = graph::kNone;                                 ///< (B,S,K,H): the values that it attends to
  graph::ValueId pattern = graph::kNone;                                ///< (B,N,T,S)
  graph::ValueId z = graph::kNone;                                      ///< (B,T,N,H)
  graph::ValueId out = graph::kNone;                                    ///< (B,T,D): what is added to the stream
};

/// A block of a stack. In a parallel block attention and MLP read the same stream, and there is no `resid_mid`.
struct Block {
  std::string stack;  ///< "encoder" or "decoder"; "" if the model has a single stack
  int layer = 0;      ///< number in the stack, from 0
  AttentionPart self;
  std::optional<AttentionPart> cross;
  graph::ValueId resid_pre = graph::kNone, resid_mid = graph::kNone, resid_cross = graph::kNone,
                 resid_post = graph::kNone;
  graph::ValueId mlp_post = graph::kNone, mlp_out = graph::kNone;
  bool post_norm = false;  ///< the stream is normalized after each addition, so that it is no sum of parts

  /// Returns the attentions in order, each with the prefix of its kinds of points: "" or "cross.".
  [[nodiscard]] std::vector<std::pair<std::string, const AttentionPart*>> attentions() const;
  /// Returns the name of a point: "decoder.resid_post.0" for "resid_post".
  [[nodiscard]] std::string name(const std::string& kind) const;
};

/// Returns the blocks of all stacks, in the order of their attentions. A block is found by the additions to a stream.
[[nodiscard]] std::vector<Block> find_blocks(const graph::Graph& graph);

}  // namespace attn::probe
