// Mixtures of experts of Qwen's families.
//
// Letters: see mixture.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/mixture.h"

namespace attn::keras {

/// The feed-forward network (silu(x·gate) ∘ (x·up))·down as a layer.
class QwenMlp : public Composite {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights&, Call&) override;
  Arg call(Call& call) override;

 private:
  Positive intermediate_dim, hidden_dim;
  Activation activation = *Activation::named("silu");
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* intermediate_dense_ = nullptr;
  Layer* gate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
};

/// One kernel computes the gates, and after them the features that are gated.
class QwenExperts : public ExpertBank {
 public:
  void fields(Fields& f) override;
  void build(Weights& w, Call&) override;
  Arg call(Call& call) override;

 private:
  Activation activation = *Activation::named("silu");
};

inline constexpr std::string_view kQwenExpertsSymbols =
    "expert_feedforward_gate_dense: - d_model -; expert_feedforward_output_dense: - u d_model";

/// The classes of a family's layers.
struct QwenMixtureNames {
  std::string_view block, experts, mlp;
};

/// The weights of experts add up to 1 if `norm_top_k_prob`.
class QwenSparseMoeBlock : public SparseMoeBlock {
 public:
  explicit QwenSparseMoeBlock(const QwenMixtureNames& names) : names_(names) {}

  void fields(Fields& f) override;
  void build(Weights&, Call&) override;

 protected:
  /// The fields between the sizes of an expert and the number of experts.
  virtual void further_fields(Fields&) {}

  QwenMixtureNames names_;

 private:
  Routing route(Call& call, const TensorPtr& rows) override;

  bool norm_top_k_prob = false;
  Number layer_norm_epsilon = 1e-5, router_aux_loss_coefficient = 0.01;
};

/// The fields of a mixture in a backbone and its blocks. KerasHub's backbones, blocks and mixtures accept the auxiliary
/// loss, which is one of training.
struct QwenMixtureFields {
  Positive moe_intermediate_dim, num_experts, top_k = 4, decoder_sparse_step = 1;
  bool norm_top_k_prob = false;
  Number router_aux_loss_coefficient = 0.001;
  std::vector<std::int64_t> mlp_only_layers;

  /// Whether the block with this index has a mixture, and not one network.
  [[nodiscard]] bool is_sparse(std::int64_t index) const;
};

/// A block whose feed-forward part is a mixture or one network.
class QwenMixtureBlock : public GatedBlock {
 public:
  QwenMixtureBlock(std::unique_ptr<AttentionFamily> family, const BlockNames& names, const QwenMixtureNames& parts)
      : GatedBlock(std::move(family), names), parts_(parts) {}

  void build(Weights& w, Call& call) override;

 protected:
  [[nodiscard]] virtual bool is_sparse() const = 0;
  /// Further arguments of the mixture.
  [[nodiscard]] virtual Json further_arguments() const { return Json::object(); }

  QwenMixtureFields mixture_;

 private:
  void make_feed_forward(std::int64_t hidden_dim) override;
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override { return apply(call, *mlp_, {x}); }

  QwenMixtureNames parts_;
  std::string called_;
  Layer* mlp_ = nullptr;
};

}  // namespace attn::keras
