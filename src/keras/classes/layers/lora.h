// The low-rank addition of keras.layers.Dense.enable_lora, and of Embedding and EinsumDense.
#pragma once

#include <optional>
#include <string>

#include "classes/call.h"
#include "classes/einsum_letters.h"
#include "classes/weights.h"
#include "config/quantization.h"

namespace attn::keras {

/// kernel + lora_alpha/lora_rank · a·b, where a (…, rank) and b (rank, n) are trained and the kernel is not. Files hold
/// the sum in the kernel's place, quantized again where it was, and neither a nor b.
class Lora {
 public:
  /// lora_rank and lora_alpha, which are written where there is a rank.
  void fields(Fields& f);
  /// Throws Error (bad_input) for a rank below 1.
  void check(const Ref& config) const;
  [[nodiscard]] bool is_on() const { return lora_rank.has_value(); }
  /// Throws Error (bad_input) where it is on and Keras has none for such weights.
  void expect_known(const Quantization& how) const;
  /// Declares a and b of a kernel called `kernel` ("kernel", "embeddings"), where it is on.
  void declare(Weights& w, const std::string& kernel, const Shape& shape);
  /// The sum, of a kernel as it is stored, in the compute dtype.
  [[nodiscard]] graph::ValueId added(Call& call, graph::ValueId kernel) const;
  /// What a kernel of integers, which a float cannot be added to, leaves to be added to its products: those of x by a,
  /// then b, scaled. Nothing where it is off. Throws Error (bad_input) where the last axis of the kernel is not the
  /// output's, as b is of that one.
  [[nodiscard]] std::optional<graph::ValueId> beside(Call& call, graph::ValueId x, const EinsumLetters& letters) const;
  /// The same for rows of a table of integers, of the compute dtype then.
  [[nodiscard]] graph::ValueId added_to_rows(Call& call, graph::ValueId rows, graph::ValueId indices) const;

 private:
  [[nodiscard]] graph::ValueId scaled(graph::Builder& b, graph::ValueId product) const;

  std::optional<std::int64_t> lora_rank;
  std::optional<Number> lora_alpha;
  int a_ = 0, b_ = 0;
};

}  // namespace attn::keras
