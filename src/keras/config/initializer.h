// The initializers of keras.initializers, in all forms that a config may use.
#pragma once

#include <string_view>

#include "attn/graph/weight.h"
#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// The first Keras version whose EinsumDense uses the axes of its equation for fan-in and fan-out. Earlier versions use
/// the last two axes of any kernel.
inline constexpr Version kEinsumFans = 315;

/// The initializer of a layer: its parameters, and its serialization in Keras.
struct Initializer {
  graph::Initializer value;
  Json json;

  /// Makes the initializer of a class ("GlorotUniform") or short name ("glorot_uniform"), with its defaults.
  explicit Initializer(std::string_view name = "zeros");
  /// Reads an initializer from a config: a name, or an object with module, class_name and config.
  [[nodiscard]] static Initializer read(const Ref& ref);
  /// Returns `value` with the `input_axes` and `output_axes` of an einsum kernel, which determine its fans. Axes that
  /// it already has are kept.
  [[nodiscard]] graph::Initializer with_axes(std::vector<int> input_axes, std::vector<int> output_axes) const;
};

}  // namespace attn::keras
