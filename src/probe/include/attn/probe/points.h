// Named values inside a model: the residual stream, heads, MLPs, attention probabilities, logits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/probe/blocks.h"

namespace attn::probe {

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
