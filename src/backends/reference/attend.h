// Scaled dot-product attention, one row of scores at a time: the common part of Attention and CachedAttention.
//
// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size.
#pragma once

#include <optional>
#include <vector>

#include "attn/graph/op.h"
#include "kernels.h"
#include "offsets.h"

namespace attn::backends::reference {

/// An array that is broadcast to (B,N,T,S).
struct BroadcastToScores {
  std::vector<double> numbers;
  Offsets strides;  // one per axis of the scores; 0 along broadcast axes

  BroadcastToScores(const Tensor& array, const Shape& scores);
  [[nodiscard]] std::size_t offset(Dim b, Dim n, Dim t, Dim s) const {
    return static_cast<std::size_t>(b * strides[0] + n * strides[1] + t * strides[2] + s * strides[3]);
  }
  [[nodiscard]] double at(Dim b, Dim n, Dim t, Dim s) const { return numbers[offset(b, n, t, s)]; }
};

/// The computation of a score, and the visible pairs of a query and a key.
struct Rules {
  double scale = 1.0;
  double soft_cap = 0.0;
  graph::AttentionPath path = graph::AttentionPath::fused;
  bool causal = false;
  std::optional<std::int64_t> window;
  Dim first = 0;        ///< position of the first query among the keys
  double hidden = 0.0;  ///< the score of an invisible pair
  std::optional<BroadcastToScores> bias;
  std::vector<BroadcastToScores> masks;

  /// Reads the bias and the masks, which follow the operation's other inputs.
  void read_further(const auto& op, Tensors further, const Shape& scores) {
    if (op.bias) bias.emplace(further[0], scores);
    for (const Tensor& mask : further.subspan(op.bias ? 1 : 0)) masks.emplace_back(mask, scores);
  }
  [[nodiscard]] bool sees(Dim b, Dim n, Dim t, Dim s) const;
};

/// Returns the score of a masked position (Keras: ops.dot_product_attention, layers.Softmax).
[[nodiscard]] double masked_score(graph::AttentionPath path, DType dtype);

/// Returns the rules of an operation that is computed in `dtype`.
[[nodiscard]] Rules rules_of(const auto& op, DType dtype) {
  Rules rules;
  rules.scale = op.scale;
  rules.soft_cap = op.soft_cap;
  rules.path = op.path;
  rules.causal = op.causal;
  rules.window = op.window;
  rules.hidden = masked_score(op.path, dtype);
  return rules;
}

struct Attended {
  std::vector<double> context;  // (B,T,N,V)
  std::vector<double> scores;   // (B,N,T,S)
  std::vector<double> lse;      // (B,N,T), if requested: ln Σ e^score over the visible pairs
};

/// Returns the score of a visible pair from the dot product of its query and its key.
[[nodiscard]] double score_of(const Rules& rules, double product, Dim b, Dim n, Dim t, Dim s);

/// query (B,T,N,H), key (B,S,K,H), value (B,S,K,V).
[[nodiscard]] Attended attend(const Rules& rules, const Tensor& query, const Tensor& key, const Tensor& value,
                              bool wants_lse = false);

}  // namespace attn::backends::reference
