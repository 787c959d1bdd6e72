// The table of classes: what a config may name, and nothing else.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "layer.h"

namespace attn::keras {

/// One class of the table.
struct LayerRow {
  std::string_view class_name;  ///< as configs spell it
  std::string_view module;      ///< "keras.layers", "keras.src.ops.numpy", …
  std::unique_ptr<Layer> (*make)();
  /// As the summary prints it, where that differs (GroupedQueryAttention); empty: class_name.
  std::string_view shown{};
  /// The package that registers it: "keras_hub" writes it as "keras_hub>TransformerEncoder".
  std::string_view package{};
};

/// The row of a class that KerasHub exports.
constexpr LayerRow keras_hub_row(std::string_view class_name, std::string_view module,
                                 std::unique_ptr<Layer> (*make)()) {
  return {class_name, module, make, {}, "keras_hub"};
}

/// Rows of layers and models, then of operations; each family of files gives its rows.
[[nodiscard]] std::span<const LayerRow> layer_rows();
[[nodiscard]] std::span<const LayerRow> operation_rows();

/// The row of a layer class, or null.
[[nodiscard]] const LayerRow* find_row(std::string_view class_name);
/// An operation of keras.ops that no config names, from its parameters.
[[nodiscard]] LayerPtr make_operation(std::string_view class_name, Json parameters);

template <typename T>
std::unique_ptr<Layer> make_layer() {
  return std::make_unique<T>();
}

/// A layer or operation from its serialized object {module, class_name, config, …}. Unknown classes, and those that
/// could run code or open files, are refused by name.
[[nodiscard]] LayerPtr read_layer(const Ref& ref, std::vector<std::string>& warnings);
/// A layer of class `class_name` from its bare config.
[[nodiscard]] LayerPtr read_layer_config(std::string_view class_name, const Ref& config,
                                         std::vector<std::string>& warnings);

/// get_config() of a layer.
[[nodiscard]] Json layer_config(Layer& layer, Version version);
/// serialize_keras_object of a layer.
[[nodiscard]] Json layer_json(Layer& layer, Version version);

}  // namespace attn::keras
