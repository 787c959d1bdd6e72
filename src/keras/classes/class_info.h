// What attn knows of a class.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace attn::keras {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

/// One class of the table.
struct LayerRow {
  std::string_view class_name;  ///< as configs spell it
  std::string_view module;      ///< "keras.layers", "keras.src.ops.numpy", …
  LayerPtr (*make)();
  /// As the summary prints it, where that differs (GroupedQueryAttention); empty: class_name.
  std::string_view shown{};
  /// The package that registers it: "keras_hub" writes it as "keras_hub>TransformerEncoder".
  std::string_view package{};
};

/// The classes of a file, or of a few.
using Family = std::span<const LayerRow>;

/// The row of a class that KerasHub exports.
constexpr LayerRow keras_hub_row(std::string_view class_name, std::string_view module, LayerPtr (*make)()) {
  return {class_name, module, make, {}, "keras_hub"};
}

template <typename T>
LayerPtr make_layer() {
  return std::make_unique<T>();
}

/// A row's `make` for a class that is told at construction which member of its family it is.
template <typename T, auto... kArguments>
LayerPtr make_with() {
  return std::make_unique<T>(kArguments...);
}

}  // namespace attn::keras
