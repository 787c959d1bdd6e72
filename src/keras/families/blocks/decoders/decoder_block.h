// Decoder blocks: attention and a feed-forward network, each with a norm before it and a residual sum after it.
//
// Letters: B batch, T length, D width.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "classes/composite.h"
#include "families/blocks/arguments.h"
#include "families/blocks/decoders/grouped_attention.h"

namespace attn::keras {

/// A block of a decoder-only model. Its attention is causal; a padding mask hides keys.
class DecoderBlock : public Composite {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;

 protected:
  /// Returns D, the width of the block's input (B,T,D).
  static std::int64_t width(Call& call);
  /// Returns the first argument. Throws Error (bad_input) if a call passes a KV cache, because attn manages the cache
  /// itself.
  static TensorPtr sequence(Call& call);
  /// Returns the arguments of the attention except `x`, with None for a missing mask. In a decode step the mask is
  /// None, because none of the new tokens is padding.
  static ArgDict attending(Call& call, const TensorPtr& sequence);
};

/// A block with layer norms, biases in all layers, and a feed-forward network of two dense layers.
class PlainBlock : public DecoderBlock {
 protected:
  Layer& make_norm(std::string_view called, std::string_view attribute) {
    return make("LayerNormalization", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
  }
  Layer& make_dense(std::string_view called, std::string_view attribute, std::int64_t units, Json activation) {
    return make("Dense", called, attribute,
                {{"units", units},
                 {"activation", std::move(activation)},
                 {"kernel_initializer", kernel_initializer.json},
                 {"bias_initializer", bias_initializer.json}});
  }

  Positive intermediate_dim;
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Layer* attention_ = nullptr;
  Layer* attention_norm_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
};

/// The names that a family's blocks have in KerasHub, which determine the names of the weights.
struct BlockNames {
  struct Part {
    std::string_view called, attribute;
  };
  std::string_view attention_class, norm_class;
  Part attention{"self_attention", "_self_attention_layer"};
  Part attention_norm{"self_attention_layernorm", "_self_attention_layernorm"};
  Part feed_forward_norm{"feedforward_layernorm", "_feedforward_layernorm"};
  std::string_view prefix = "_";  ///< prefix of the attributes of the feed-forward network, as in
                                  ///< "_feedforward_gate_dense"
};

/// The activation, computed in float32 or float64 for any policy.
[[nodiscard]] graph::ValueId activated(Call& call, const Activation& activation, const TensorPtr& x);

/// A block as in Llama, with RMS norms: grouped attention, then the feed-forward network (silu(x·gate) ∘ (x·up))·down.
class GatedBlock : public DecoderBlock {
 public:
  GatedBlock(std::unique_ptr<AttentionFamily> family, const BlockNames& names)
      : family_(std::move(family)), names_(names) {}

  void fields(Fields& f) override;
  [[nodiscard]] bool supports_masking() const override { return true; }
  void build(Weights&, Call& call) override { make_parts(width(call)); }
  Arg call(Call& call) override;

 protected:
  /// Reads the fields that only this kind of block has.
  virtual void further_fields(Fields&) {}
  /// Creates the sublayers in Keras's order.
  virtual void make_parts(std::int64_t hidden_dim);
  virtual void make_feed_forward(std::int64_t hidden_dim);
  virtual TensorPtr feed_forward(Call& call, const TensorPtr& x);

  void make_attention();
  void make_attention_norm() { attention_norm_ = &make_norm(names_.attention_norm); }
  void make_feed_forward_norm() { feed_forward_norm_ = &make_norm(names_.feed_forward_norm); }

  Positive intermediate_dim, num_query_heads, num_key_value_heads;
  Activation activation = *Activation::named("silu");
  Number layer_norm_epsilon = 1e-5, dropout = 0;
  Initializer kernel_initializer{"glorot_uniform"};

 private:
  Layer& make_norm(const BlockNames::Part& part);
  Layer& make_dense(std::string_view part, std::int64_t units);

  std::unique_ptr<AttentionFamily> family_;
  BlockNames names_;
  Layer* attention_ = nullptr;
  Layer* attention_norm_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* gate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
};

}  // namespace attn::keras
