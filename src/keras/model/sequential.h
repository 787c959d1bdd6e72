// keras.Sequential.
#pragma once

#include <optional>

#include "model/functional.h"

namespace attn::keras {

/// keras.Sequential: a chain. Without an input shape it stays unbuilt until its first call.
class Sequential : public Functional {
 public:
  void config(Fields& f) override;
  [[nodiscard]] std::optional<DType> input_dtype() const override;
  Arg call(Call& call) override;
  [[nodiscard]] std::vector<Layer*> layers() const override;
  [[nodiscard]] bool sequential_like() const override { return true; }
  [[nodiscard]] bool is_functional() const override { return false; }
  void finish_reading(const Document& document, std::size_t before) override;
  /// Prepends an input layer if there is none, and connects the chain.
  void build_chain(const Shape& input_shape);
  [[nodiscard]] bool has_input() const;

  std::optional<Shape> build_input_shape;
};

[[nodiscard]] Family sequential_classes();

}  // namespace attn::keras
