// keras.Input's layer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "classes/layer.h"

namespace attn::keras {

class InputLayer : public Layer {
 public:
  void config(Fields& f) override;
  Arg call(Call& call) override;
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  Shape batch_shape;
  std::string dtype = "float32";
  bool sparse = false, ragged = false, optional = false;
  /// Returns the dtype of the input; for strings, which are not tensors, that of their encoding.
  [[nodiscard]] DType element_type() const;
  [[nodiscard]] bool is_text() const { return dtype == "string"; }
};

/// Creates an input layer without a config.
[[nodiscard]] std::unique_ptr<InputLayer> make_input(std::string_view name, const Shape& batch_shape,
                                                     std::string_view dtype = "float32");

/// Returns the tensor of the layer in a graph: an input of this shape, or a placeholder for strings.
[[nodiscard]] TensorPtr input_tensor(graph::Builder& b, const InputLayer& input, const Shape& shape);

[[nodiscard]] Family input_classes();

/// Returns the layer as an InputLayer, or null.
[[nodiscard]] inline const InputLayer* as_input(const Layer& layer) { return dynamic_cast<const InputLayer*>(&layer); }

}  // namespace attn::keras
