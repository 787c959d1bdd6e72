// Named values inside a model: the residual stream, heads, MLPs, attention probabilities, logits.
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

struct Point {
  std::string name;  ///< "z.3", "decoder.resid_post.0"
  graph::ValueId value = graph::kNone;
  std::string series;        ///< the name without the layer: "z", "decoder.resid_post"
  std::optional<int> layer;  ///< empty for "embed", "final_norm" and "logits"
};

struct Points {
  std::vector<Block> blocks;                    ///< all stacks, the encoder first
  graph::ValueId embed = graph::kNone;          ///< (B,T,D): rows of the token table, before scale and position
  graph::ValueId encoder_embed = graph::kNone;  ///< the same of the encoder's tokens
  graph::ValueId final_norm = graph::kNone;     ///< (B,T,D): input of the unembedding
  graph::ValueId logits = graph::kNone;         ///< (B,T,V), or (B,classes)
  std::vector<Point> named;                     ///< all of them in order of the pass

  /// Makes every point of one value name another.
  void rename(graph::ValueId from, graph::ValueId to);
  /// Returns the blocks of the stack that produces the output: the decoder, or the only stack.
  [[nodiscard]] std::vector<const Block*> last_stack() const;
  /// Returns the value of a name; negative layers count from the end. A name without a stack means the decoder's.
  /// Throws Error (usage) with the nearest name.
  [[nodiscard]] const Point& find(const std::string& name) const;
  /// Returns the points of a list with commas. A name without a layer stands for all layers, and without a
  /// stack for all stacks: "z" for z.0, z.1, ….
  [[nodiscard]] std::vector<Point> select(const std::string& list) const;
};

/// Finds the points by the operations around each attention: where its result is added to a stream, and what else is
/// added there. The rule is the same for all families. `tokens` and `encoder_tokens` are inputs of token ids, or kNone.
/// A model whose graph returns probabilities at the end has its logits before them. Returns no blocks for a graph
/// without attention of that form.
[[nodiscard]] Points find_points(const graph::Graph& graph, graph::ValueId tokens, graph::ValueId encoder_tokens,
                                 bool has_logits);

}  // namespace attn::probe
