// The low-rank addition of keras.layers.Dense.enable_lora, and of Embedding and EinsumDense.
#pragma once

#include <optional>
#include <string>

#include "classes/call.h"

namespace attn::keras {

/// kernel + lora_alpha/lora_rank · a·b, where a (…, rank) and b (rank, n) are trained and the kernel is not. Files hold
/// the sum in the kernel's place, and neither a nor b.
class Lora {
 public:
  /// lora_rank and lora_alpha, which are written where there is a rank.
  void fields(Fields& f);
  /// Throws Error (bad_input) for a rank below 1.
  void check(const Ref& config) const;
  [[nodiscard]] bool is_on() const { return lora_rank.has_value(); }
  /// Throws Error (bad_input) where it is on: for a kernel of integers.
  void expect_floats() const;
  /// Declares a and b of a kernel called `kernel` ("kernel", "embeddings"), where it is on.
  void declare(Weights& w, const std::string& kernel, const Shape& shape);
  /// The sum, of a kernel as it is stored, in the compute dtype.
  [[nodiscard]] graph::ValueId added(Call& call, graph::ValueId kernel) const;

 private:
  std::optional<std::int64_t> lora_rank;
  std::optional<Number> lora_alpha;
  int a_ = 0, b_ = 0;
};

}  // namespace attn::keras
