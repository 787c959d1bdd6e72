// Self-attention of decoders as Llama has it and the families after it: groups of query heads share heads of keys and
// values, and queries and keys turn with their positions (keras_hub/src/models/llama/llama_attention.py and others).
//
// Letters as in head_attention.h.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "classes/layers/head_attention.h"
#include "classes/layers/rotary.h"

namespace attn::keras {

/// What sets a family apart: the fields of its attention, which its blocks and its backbone have too, and what they
/// mean.
class AttentionFamily {
 public:
  virtual ~AttentionFamily() = default;
  /// The fields that not all families have.
  virtual void fields(Fields& f) = 0;
  /// Checks what fields cannot check alone; `config` is for messages.
  virtual void check(const Ref& /*config*/) const {}
  /// The size of a head, for an input of `width` features and `heads` query heads.
  [[nodiscard]] virtual Dim head_size(Dim width, Dim heads) const { return width / heads; }
  /// x (B,T,N,H), queries or keys, turned by positions.
  [[nodiscard]] virtual graph::ValueId turned(Call& call, graph::ValueId x) const = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> window() const { return std::nullopt; }
  /// What Keras's attributes of the projections begin with, as in "_query_dense".
  [[nodiscard]] virtual std::string_view prefix() const { return "_"; }
  /// Have query, key and value biases?
  [[nodiscard]] virtual bool biased() const { return false; }
  /// The ε of the norms of queries and keys; nothing: there are none.
  [[nodiscard]] virtual std::optional<double> norm_epsilon() const { return std::nullopt; }
};

/// One that turns pairs of features by wavelength^(−2i/H)/factor a position.
class LinearRotaryFamily : public AttentionFamily {
 public:
  void fields(Fields& f) override {
    f("rope_max_wavelength", rope_max_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
  }
  void check(const Ref& config) const override;
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override;

  Number rope_max_wavelength = 10000, rope_scaling_factor{1.0};
};

class GroupedAttention : public HeadAttention {
 public:
  explicit GroupedAttention(std::unique_ptr<AttentionFamily> family) : family_(std::move(family)) {}

  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_query_heads, head_size_}; }
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

 private:
  Positive num_query_heads, num_key_value_heads;
  std::unique_ptr<AttentionFamily> family_;
  Dim head_size_ = 0;
  int query_norm_ = 0, key_norm_ = 0;
};

/// A record's `make` for the attention of a family.
template <typename Family>
LayerPtr make_grouped_attention() {
  return std::make_unique<GroupedAttention>(std::make_unique<Family>());
}

/// What the literature calls the sizes of its variables.
inline constexpr std::string_view kGroupedAttentionSymbols =
    "query/kernel: d_model h d_head; query/bias: h d_head; query_dense_layernorm/scale: d_head;"
    " key/kernel: d_model g d_head; key/bias: g d_head; key_dense_layernorm/scale: d_head;"
    " value/kernel: d_model g d_head; value/bias: g d_head; attention_output/kernel: h d_head d_model";

}  // namespace attn::keras
