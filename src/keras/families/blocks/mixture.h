// Sparse mixtures of experts: a router weights feed-forward networks ("experts") for each token, and only the `top_k`
// best ones have a weight that is not 0. Every expert is applied to every token, like in KerasHub.
//
// Letters: B batch, T length, R = B·T rows, D width, E experts, M features inside an expert.
#pragma once

#include <cstdint>
#include <string_view>

#include "classes/composite.h"
#include "classes/ops/expression.h"

namespace attn::keras {

/// Whether each x (R,E) is among the `count` largest of its row; of equal ones the first are larger.
[[nodiscard]] Expression among_largest(const Expression& x, std::int64_t count);

/// The weights (R,E) of experts by the logits of a router (R,E): their probabilities, 0 except for the `top_k` largest.
/// `normalized`: the weights of a row have the sum 1.
[[nodiscard]] Expression expert_weights(const Expression& logits, std::int64_t top_k, bool normalized);

/// The common part of sparse blocks. A call returns the weighted sum (B,T,D) and the router's output (R,E).
class SparseMoeBlock : public Composite {
 public:
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  Arg call(Call& call) override;

 protected:
  struct Routing {
    Expression weights;  ///< (R,E)
    TensorPtr output;
  };
  /// Applies the router to rows (R,D).
  virtual Routing route(Call& call, const TensorPtr& rows) = 0;
  /// Returns the sum of the experts plus the parts that are applied to all rows (R,D).
  virtual Expression completed(Call& /*call*/, const TensorPtr& /*rows*/, const Expression& sum) { return sum; }

  /// Creates the router of Mixtral and Qwen, a Dense without bias.
  void make_router();
  void make_experts(std::string_view class_name, std::string_view attribute);

  Positive hidden_dim, intermediate_dim, num_experts, top_k = 2;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* router_ = nullptr;
  Layer* experts_ = nullptr;
};

/// The fields of a layer that applies every expert to every row: (R,D) → (E,R,D).
class ExpertBank : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override;

 protected:
  /// The rows (1,R,D), which broadcast to all experts.
  static Expression rows(Call& call);
  /// x (E,R,…) times the kernels of all experts, the weight number `weight` (E,…,…).
  static Expression times(Call& call, const Expression& x, int weight);

  Positive num_experts, hidden_dim, intermediate_dim;
  Initializer kernel_initializer{"glorot_uniform"};
};

}  // namespace attn::keras
