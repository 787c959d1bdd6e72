// The kernel and the bias of a quantized dense map, as Dense, EinsumDense and the projections of attention have them
// (keras/src/layers/core/dense.py, einsum_dense.py).
#pragma once

#include <optional>

#include "classes/call.h"
#include "classes/einsum_letters.h"
#include "classes/weights.h"

namespace attn::keras {

/// How a layer's weights are quantized: by its policy, whose groups its `quantization_config` may tell. Nothing: they
/// are not. Throws Error (bad_input) where the two name different modes.
[[nodiscard]] std::optional<Quantization> quantization_of(const DTypePolicy& policy, const QuantizationConfig& config);

class DenseKernel {
 public:
  /// What it stands for: a kernel and a bias of floats.
  struct Floats {
    EinsumLetters letters;
    Shape kernel;
    graph::Initializer kernel_initializer;
    std::optional<Shape> bias{};
    graph::Initializer bias_initializer{};
    bool by_einsum = true;  ///< Is it EinsumDense's? Dense keeps scales and rounds in other ways.
  };

  /// Declares the variables of a quantized kernel, and of the bias.
  void declare(Weights& w, const Quantization& how, const QuantizationConfig& config, Floats floats);
  [[nodiscard]] bool is_quantized() const { return how_.has_value(); }
  [[nodiscard]] const EinsumLetters& letters() const { return floats_.letters; }
  /// x·kernel + `beside` + bias, where there is something beside the kernel.
  [[nodiscard]] graph::ValueId multiply(Call& call, graph::ValueId x, std::optional<graph::ValueId> beside = {}) const;

 private:
  using Beside = std::optional<graph::ValueId>;

  void declare_integers(Weights& w);
  void declare_float8(Weights& w);
  void declare_calibrated(Weights& w);
  [[nodiscard]] Shape matrix() const;
  [[nodiscard]] graph::ValueId product_of_int8(Call& call, graph::ValueId x, Beside beside) const;
  [[nodiscard]] graph::ValueId sums_of_int8(Call& call, graph::ValueId x, Beside beside) const;
  [[nodiscard]] graph::ValueId product_of_matrix(Call& call, graph::ValueId x, Beside beside) const;
  [[nodiscard]] graph::ValueId product_of_floats(Call& call, graph::ValueId x, graph::ValueId kernel,
                                                 Beside beside) const;
  [[nodiscard]] bool takes_bias(Beside beside) const;
  [[nodiscard]] graph::ValueId with_rest(Call& call, graph::ValueId y, Beside beside, bool has_bias) const;
  [[nodiscard]] graph::ValueId dequantized(Call& call) const;
  [[nodiscard]] graph::ValueId through_float8(Call& call, graph::ValueId x, int scale) const;
  [[nodiscard]] graph::ValueId groups(Call& call) const;
  [[nodiscard]] bool is_calibrated() const;

  std::optional<Quantization> how_;
  std::optional<graph::IntegerRange> inputs_;
  Floats floats_;
  Shape rows_;     // sizes of the axes that are summed over
  Shape columns_;  // and of the others, in the kernel's order
  // Indices in the layer; −1: there is none.
  int kernel_ = -1, bias_ = -1, scale_ = -1, zero_ = -1, groups_ = -1, awq_ = -1, inputs_scale_ = -1;
};

}  // namespace attn::keras
