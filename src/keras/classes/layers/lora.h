// Low-rank adaptation: keras.layers.Dense.enable_lora, and the same for Embedding and EinsumDense.
#pragma once

#include <optional>
#include <string>

#include "classes/call.h"
#include "classes/einsum_letters.h"
#include "classes/weights.h"
#include "config/quantization.h"

namespace attn::keras {

/// kernel + lora_alpha/lora_rank · a·b, where a (…, rank) and b (rank, n) are trained and the kernel is not. Files
/// store the sum as the kernel, quantized again if it was quantized, without a and b.
class Lora {
 public:
  /// Reads or writes lora_rank and lora_alpha; they are written only if there is a rank.
  void fields(Fields& f);
  /// Throws Error (bad_input) for a rank below 1.
  void check(const Ref& config) const;
  [[nodiscard]] bool is_on() const { return lora_rank.has_value(); }
  /// Throws Error (bad_input) if LoRA is enabled and Keras does not support it for this quantization.
  void expect_known(const Quantization& how) const;
  /// Declares a and b of a kernel named `kernel` ("kernel", "embeddings"), if enabled.
  void declare(Weights& w, const std::string& kernel, const Shape& shape);
  /// Returns the sum of a kernel and the low-rank term, in the compute dtype. Returns `kernel` if LoRA is disabled.
  [[nodiscard]] graph::ValueId added(Call& call, graph::ValueId kernel) const;
  /// Returns the scaled low-rank term x·a·b for a quantized kernel, to which a float cannot be added. Empty if LoRA is
  /// disabled. Throws Error (bad_input) if the last axis of the kernel is not that of the output, which b requires.
  [[nodiscard]] std::optional<graph::ValueId> beside(Call& call, graph::ValueId x, const EinsumLetters& letters) const;
  /// Adds the low-rank term to the rows `indices` of a quantized table; the result has the compute dtype. Returns
  /// `rows` if LoRA is disabled.
  [[nodiscard]] graph::ValueId added_to_rows(Call& call, graph::ValueId rows, graph::ValueId indices) const;

 private:
  [[nodiscard]] graph::ValueId scaled(graph::Builder& b, graph::ValueId product) const;

  std::optional<std::int64_t> lora_rank;
  std::optional<Number> lora_alpha;
  int a_ = 0, b_ = 0;
};

}  // namespace attn::keras
