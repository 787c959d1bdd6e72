// The common part of MultiHeadAttention and GroupedQueryAttention.
//
// Letters: B batch, T query length, S key/value length, N query heads, K key/value heads, H head size, D width.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "classes/call.h"
#include "classes/dense_kernel.h"
#include "classes/layer.h"
#include "classes/layers/attention/attend.h"

namespace attn::keras {

/// The base class of layers with heads: projections with their variables, masks, and the selection between Keras's two
/// computations.
class HeadAttention : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] bool supports_masking() const override { return true; }

 protected:
  struct Projection {
    int kernel = 0;
    std::optional<int> bias{};
    DenseKernel integers{};  ///< used in place of kernel and bias if they are quantized
  };

  [[nodiscard]] Heads heads_of(std::int64_t count, std::int64_t size) const { return {count, size, dropout == 0.0}; }

  /// `seed_since` is the first Keras version that writes the seed.
  void common_fields(Fields& f, Version seed_since);

  void check(const Ref& config) override;

  /// Declares kernel (in…, out…) and bias (out…) of an EinsumDense named `sublayer`, whose input has `rows` axes
  /// besides in…, or of a Dense.
  Projection declare(Weights& w, std::string_view sublayer, std::string_view attribute, const Shape& in,
                     const Shape& out, bool biased, int rows = 2, bool by_einsum = true);
  Projection declare(Weights& w, std::string_view sublayer, std::string_view attribute, const Shape& in,
                     const Shape& out, int rows = 2) {
    return declare(w, sublayer, attribute, in, out, use_bias, rows);
  }

  graph::ValueId project(Call& call, graph::ValueId x, const Projection& projection, int contracted = 1) const;

  [[nodiscard]] graph::AttentionPath path(Call& call, int projected_rank) const;

  /// Converts `mask` to bool and inserts axes of size 1 at `position` (from the back) up to rank `rank`.
  static graph::ValueId expanded(graph::Builder& b, graph::ValueId mask, int position, int rank);

  /// Returns the masks of a rank-3 call, which the operation combines; each broadcasts to (B,N,T,S).
  static std::vector<graph::ValueId> masks(Call& call, const std::optional<graph::ValueId>& query_mask);

  /// Causality along the only attended axis, which is the first after the batch.
  struct Causality {
    bool causal = false;
    std::optional<std::int64_t> window;
  };
  [[nodiscard]] Causality causality(Call& call) const {
    return {call.flag("use_causal_mask"), plain_ ? std::nullopt : sliding_window};
  }

  /// The context, and the probabilities (kNone unless requested) with the mask that Keras's softmax attaches to the
  /// probabilities.
  struct MaskedAttended : Attended {
    std::optional<graph::ValueId> scores_mask;
  };

  /// Combines all masks of the scores; empty if no score is hidden.
  static std::optional<graph::ValueId> combined(graph::Builder& b, std::vector<graph::ValueId> masks,
                                                const Causality& causality, Dim targets, Dim sources, int rank);
  /// Returns whether the probabilities are returned with a mask. Symbolic shapes may differ from the mask's shape, so a
  /// symbolic lowering returns a mask only if masks are traced.
  [[nodiscard]] bool masks_scores(Call& call) const;

  /// Adds the attention operation on projections (B,T,N,H).
  MaskedAttended attend(Call& call, graph::ValueId q, graph::ValueId k, graph::ValueId v,
                        const std::vector<graph::ValueId>& masks, std::int64_t head_size, graph::AttentionPath path,
                        const Causality& causality) const;

  /// Multiplies the values by the probabilities after dropout, for training.
  graph::ValueId context_of_dropped(Call& call, graph::ValueId scores, graph::ValueId v) const;

  /// Returns the results of call(); the first result has the query's mask.
  static Arg results(Call& call, graph::ValueId output, const MaskedAttended& attended,
                     const std::optional<graph::ValueId>& query_mask);

  Number dropout;
  bool use_bias = true, use_gate = false;
  std::optional<std::int64_t> sliding_window;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, bias_regularizer, activity;
  Constraint kernel_constraint, bias_constraint;
  Opaque seed;
  Projection query_, key_, gate_, value_, output_;
  bool plain_ = false;  ///< whether the gate and the window of the config are ignored
};

}  // namespace attn::keras
