// Self-attention of Llama and later decoder families: groups of query heads share heads of keys and values, and queries
// and keys have rotary positions (keras_hub/src/models/llama/llama_attention.py and others).
//
// Letters: see head_attention.h.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/rotary.h"

namespace attn::keras {

/// The fields of a family's attention and their meaning. The family's blocks and backbone have the same fields.
class AttentionFamily {
 public:
  virtual ~AttentionFamily() = default;
  /// Reads or writes the fields that not every family has.
  virtual void fields(Fields& f) = 0;
  /// Checks constraints between fields. `config` is named in messages.
  virtual void check(const Ref& /*config*/) const {}
  /// Returns the head size, for an input of `width` features and `heads` query heads.
  [[nodiscard]] virtual Dim head_size(Dim width, Dim heads) const { return width / heads; }
  /// Applies rotary positions to x (B,T,N,H), queries or keys.
  [[nodiscard]] virtual graph::ValueId turned(Call& call, graph::ValueId x) const = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> window() const { return std::nullopt; }
  /// Returns the prefix of the projections' attributes in Keras, as in "_query_dense".
  [[nodiscard]] virtual std::string_view prefix() const { return "_"; }
  /// Returns the prefix of the output projection's attribute.
  [[nodiscard]] virtual std::string_view output_prefix() const { return prefix(); }
  /// Returns whether query, key and value have biases.
  [[nodiscard]] virtual bool biased() const { return false; }
  /// Returns whether the output projection has biases.
  [[nodiscard]] virtual bool output_biased() const { return false; }
  /// Returns whether each head has a sink (attention_sinks.h).
  [[nodiscard]] virtual bool has_sinks() const { return false; }
  /// Returns the ε of the norms of queries and keys; empty if there are none.
  [[nodiscard]] virtual std::optional<double> norm_epsilon() const { return std::nullopt; }
};

/// A family with the standard rotary angle wavelength^(−2i/H)/factor for each position.
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
  int query_norm_ = 0, key_norm_ = 0, sinks_ = 0;
};

/// Makes the attention of a family, for the `make` of a class record.
template <typename Family>
LayerPtr make_grouped_attention() {
  return std::make_unique<GroupedAttention>(std::make_unique<Family>());
}

/// The names of the sizes of the attention's variables in the literature.
inline constexpr std::string_view kGroupedAttentionSymbols =
    "query/kernel: d_model h d_head; query/bias: h d_head; query_dense_layernorm/scale: d_head;"
    " key/kernel: d_model g d_head; key/bias: g d_head; key_dense_layernorm/scale: d_head;"
    " value/kernel: d_model g d_head; value/bias: g d_head; attention_output/kernel: h d_head d_model";

}  // namespace attn::keras
