// What MultiHeadAttention and GroupedQueryAttention share.
//
// Letters: B batch, T query length, S key/value length, N query heads, K key/value heads, H head size, D width.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "classes/call.h"
#include "classes/dense_kernel.h"
#include "classes/layer.h"
#include "classes/layers/attend.h"

namespace attn::keras {

/// What layers with heads share: projections with their variables, the masks, and the choice of Keras's two
/// computations.
class HeadAttention : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] bool supports_masking() const override { return true; }

 protected:
  struct Projection {
    int kernel = 0;
    std::optional<int> bias{};
    DenseKernel integers{};  ///< in place of both, where they are quantized
  };

  [[nodiscard]] Heads heads_of(std::int64_t count, std::int64_t size) const { return {count, size, dropout == 0.0}; }

  /// `seed_since`: the Keras that began to write the seed.
  void common_fields(Fields& f, Version seed_since);

  void check(const Ref& config) override;

  /// kernel (in…, out…) and bias (out…) of an EinsumDense called `sublayer`, whose input has `rows` axes beside in…,
  /// or of a Dense.
  Projection declare(Weights& w, std::string_view sublayer, std::string_view attribute, const Shape& in,
                     const Shape& out, bool biased, int rows = 2, bool by_einsum = true);
  Projection declare(Weights& w, std::string_view sublayer, std::string_view attribute, const Shape& in,
                     const Shape& out, int rows = 2) {
    return declare(w, sublayer, attribute, in, out, use_bias, rows);
  }

  graph::ValueId project(Call& call, graph::ValueId x, const Projection& projection, int contracted = 1) const;

  [[nodiscard]] graph::AttentionPath path(Call& call, int projected_rank) const;

  /// `mask` as bool, with axes of size 1 put in at `position` (from the back) until its rank is `rank`.
  static graph::ValueId expanded(graph::Builder& b, graph::ValueId mask, int position, int rank);

  /// The masks of a rank-3 call, each (B,N,T,S) or broadcasting to it: the operation combines them.
  static std::vector<graph::ValueId> masks(Call& call, const std::optional<graph::ValueId>& query_mask);

  /// Who sees whom along the only attended axis, the first after the batch.
  struct Sight {
    bool causal = false;
    std::optional<std::int64_t> window;
  };
  [[nodiscard]] Sight sight(Call& call) const {
    return {call.flag("use_causal_mask"), plain_ ? std::nullopt : sliding_window};
  }

  /// Context, and the probabilities (kNone unless asked for) with the mask that Keras's softmax leaves on them.
  struct MaskedAttended : Attended {
    std::optional<graph::ValueId> scores_mask;
  };

  /// All masks of the scores as one; nothing where none hides anything.
  static std::optional<graph::ValueId> combined(graph::Builder& b, std::vector<graph::ValueId> masks,
                                                const Sight& sight, Dim targets, Dim sources, int rank);
  /// Does a later layer get the probabilities, with a mask? Not symbolically, where their shape may be another, unless
  /// the masks are what is asked for.
  [[nodiscard]] bool masks_scores(Call& call) const;

  /// The attention operation on (B,T,N,H) projections.
  MaskedAttended attend(Call& call, graph::ValueId q, graph::ValueId k, graph::ValueId v,
                        const std::vector<graph::ValueId>& masks, std::int64_t head_size, graph::AttentionPath path,
                        const Sight& sight) const;

  /// In training with dropout: the values by probabilities of which some are dropped.
  graph::ValueId context_of_dropped(Call& call, graph::ValueId scores, graph::ValueId v) const;

  /// The results of call(), with the query's mask on the first.
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
  bool plain_ = false;  ///< computes neither gate nor window, whatever the config says
};

}  // namespace attn::keras
