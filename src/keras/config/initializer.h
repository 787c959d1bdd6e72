// keras.initializers, by the forms in which a config may name one.
#pragma once

#include <string_view>

#include "attn/graph/weight.h"
#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// Since when EinsumDense draws from its equation's axes (before: from the last two of any kernel).
inline constexpr Version kEinsumFans = 315;

/// An initializer of a layer: what it draws, and how Keras serializes it.
struct Initializer {
  graph::Initializer value;
  Json json;

  /// The initializer of a class ("GlorotUniform") or short name ("glorot_uniform"), with its defaults.
  explicit Initializer(std::string_view name = "zeros");
  /// Reads it from a config: a name, or an object with module, class_name and config.
  [[nodiscard]] static Initializer read(const Ref& ref);
  /// The same with Keras's `input_axes` and `output_axes` of an einsum kernel, for its fans.
  [[nodiscard]] graph::Initializer with_axes(std::vector<int> input_axes, std::vector<int> output_axes) const;
};

}  // namespace attn::keras
