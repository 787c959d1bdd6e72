// The attention and the block of RoFormer V2. ESM has the same ones, but rotates other pairs of features.  Letters: see
// head_attention.h.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "classes/composite.h"
#include "classes/layers/attention/rotary.h"

namespace attn::keras {

/// Returns the cosines and sines (1,T,1,H) in the compute dtype, where `angle(t, i)` is the angle in radians of
/// position t for the feature i. Layers with the same `name` share them, so `name` must include every parameter of the
/// formula.
[[nodiscard]] Angles angles_by(Call& call, const std::string& name, Dim length, Dim width,
                               const std::function<double(Dim, Dim)>& angle);

/// An attention whose mask hides queries, as in KerasHub on TensorFlow: the result of a hidden query is the mean of all
/// values. The other queries also see the keys of hidden positions.
class RoformerAttention : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{heads_, head_size}; }
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

 protected:
  /// Rotates x (B,T,N,H) by its positions. RoFormer rotates the pairs of features (2i, 2i + 1).
  [[nodiscard]] virtual graph::ValueId rotated(Call& call, graph::ValueId x) const;

  Number max_wavelength = 10000;

 private:
  Positive heads_, head_size;
  std::optional<Positive> out_dim;
  bool use_bias = false;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* q_dense_ = nullptr;
  Layer* k_dense_ = nullptr;
  Layer* v_dense_ = nullptr;
  Layer* o_dense_ = nullptr;
};

/// An attention and two dense layers. A subclass names the classes of attention and norms, and calls the parts.
class RoformerBlock : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;

 protected:
  explicit RoformerBlock(const char* activation_name) : activation(*Activation::named(activation_name)) {}

  /// Reads or writes the fields of the class between `dropout` and `kernel_initializer`.
  virtual void own_fields(Fields&) {}
  struct Parts {
    std::string_view attention;
    Json attention_arguments;  ///< further arguments of the attention, besides those that all subclasses have
    std::string_view norm;
    Json norm_arguments;
    std::string_view feedforward_norm;  ///< name of the norm after the dense layers
  };
  void make_parts(Call& call, const Parts& parts);

  TensorPtr attended(Call& call, const TensorPtr& x) {
    return apply(call, *attention_, {x}, {{"attention_mask", call.arg("attention_mask")}});
  }
  TensorPtr fed_forward(Call& call, const TensorPtr& x) {
    return apply(call, *output_dense_, {apply(call, *intermediate_dense_, {x})});
  }
  TensorPtr dropped_out(Call& call, const TensorPtr& x) { return apply(call, *dropout_layer_, {x}); }

  Activation activation;
  Layer* attention_norm_ = nullptr;
  Layer* feedforward_norm_ = nullptr;

 private:
  Positive heads_, head_size, intermediate_size;
  Number max_wavelength = 10000, dropout = 0;
  bool use_bias = false;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* attention_ = nullptr;
  Layer* dropout_layer_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
};

}  // namespace attn::keras
