// The quantized kernel and bias of a dense map, as in Dense, EinsumDense and the projections of attention
// (keras/src/layers/core/dense.py, einsum_dense.py).
#pragma once

#include <optional>

#include "classes/call.h"
#include "classes/einsum_letters.h"
#include "classes/weights.h"
#include "config/quantization_config.h"

namespace attn::keras {

/// Returns the quantization of a layer's weights: that of its policy, with the block size of `quantization_config`, if
/// that has one. Empty if the weights are not quantized. Throws Error (bad_input) if the two have different modes.
[[nodiscard]] std::optional<Quantization> quantization_of(const DTypePolicy& policy, const QuantizationConfig& config);

class DenseKernel {
 public:
  /// The float kernel and bias that the quantized variables represent.
  struct Floats {
    EinsumLetters letters;
    Shape kernel;
    graph::Initializer kernel_initializer;
    std::optional<Shape> bias{};
    graph::Initializer bias_initializer{};
    bool by_einsum = true;  ///< Whether the kernel belongs to EinsumDense; Dense stores scales and rounds differently.
  };

  /// Declares the variables of the quantized kernel and of the bias.
  void declare(Weights& w, const Quantization& how, const QuantizationConfig& config, Floats floats);
  [[nodiscard]] bool is_quantized() const { return how_.has_value(); }
  [[nodiscard]] const EinsumLetters& letters() const { return floats_.letters; }
  /// Computes x·kernel + `summand` + bias; `summand` is an optional term.
  [[nodiscard]] graph::ValueId multiply(Call& call, graph::ValueId x, std::optional<graph::ValueId> summand = {}) const;

 private:
  using Summand = std::optional<graph::ValueId>;

  void declare_integers(Weights& w);
  void declare_float8(Weights& w);
  void declare_calibrated(Weights& w);
  [[nodiscard]] Shape matrix() const;
  [[nodiscard]] graph::ValueId product_of_int8(Call& call, graph::ValueId x, Summand summand) const;
  [[nodiscard]] graph::ValueId sums_of_int8(Call& call, graph::ValueId x, Summand summand) const;
  [[nodiscard]] graph::ValueId product_of_matrix(Call& call, graph::ValueId x, Summand summand) const;
  [[nodiscard]] graph::ValueId product_of_floats(Call& call, graph::ValueId x, graph::ValueId kernel,
                                                 Summand summand) const;
  [[nodiscard]] bool takes_bias(Summand summand) const;
  [[nodiscard]] graph::ValueId with_rest(Call& call, graph::ValueId y, Summand summand, bool has_bias) const;
  [[nodiscard]] graph::ValueId dequantized(Call& call) const;
  [[nodiscard]] graph::ValueId through_float8(Call& call, graph::ValueId x, int scale) const;
  [[nodiscard]] graph::ValueId groups(Call& call) const;
  [[nodiscard]] bool is_calibrated() const;

  std::optional<Quantization> how_;
  std::optional<graph::IntegerRange> inputs_;
  Floats floats_;
  Shape rows_;     // sizes of the summed axes
  Shape columns_;  // sizes of the other axes, in the order of the kernel
  // Indices of variables in the layer; −1 if absent.
  int kernel_ = -1, bias_ = -1, scale_ = -1, zero_ = -1, groups_ = -1, awq_ = -1, inputs_scale_ = -1;
};

}  // namespace attn::keras
