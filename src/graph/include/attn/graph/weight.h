// What a model says about one of its weights, before any number exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn::graph {

/// An initializer by its Keras class name and arguments; how it draws is the business of the weights room.
struct Initializer {
  std::string class_name = "Zeros";               ///< "GlorotUniform", "RandomNormal", "Constant", …
  double scale = 1.0;                             ///< VarianceScaling
  std::string mode = "fan_in";                    ///< VarianceScaling: fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  ///< VarianceScaling
  double mean = 0.0, stddev = 0.05;               ///< normals
  double minval = -0.05, maxval = 0.05;           ///< RandomUniform
  double gain = 1.0;                              ///< Orthogonal, Identity
  double value = 0.0;                             ///< Constant
  std::vector<double> values{};                   ///< Constant of an array: all elements
  /// An LSTM's bias: the second of four equal parts is one, and the first, and the last two together, are each drawn as
  /// a weight of their own.
  bool unit_forget = false;
  std::optional<std::int64_t> seed;
  /// Axes of the weight that count as inputs and outputs for its fans; empty: Keras's rule by rank. (EinsumDense since
  /// Keras 3.15.)
  std::vector<int> input_axes, output_axes;
};

/// Which part of a quantized weight a variable is, and of which weight: what quantizing that one gives
/// (keras/src/quantizers/quantizers.py).
struct QuantizedPart {
  enum class Kind : std::uint8_t { integers, scale, zero, groups };
  Kind kind = Kind::integers;
  std::string of;           ///< the name of the float weight, "kernel": its path has this in place of the variable's
  Shape shape{};            ///< under which its numbers are quantized
  std::vector<int> axes{};  ///< along which a scale holds
  int bits = 8;
  Dim group = 0;  ///< so many of them share a scale and a zero point, with 4 bits along one axis; 0: all
  /// The other axes in the order in which the scales lie; empty: theirs.
  std::vector<int> order{};
  int packed = -1;  ///< the axis along which two integers share a byte; −1: none do
};

/// One variable of a model, in the order in which Keras creates them.
struct WeightSpec {
  std::string path;        ///< Keras's path, "multi_head_attention/query/kernel": what decides its random numbers
  std::string store_path;  ///< where .weights.h5 keeps it: "layers/multi_head_attention/query_dense/vars/0"
  Shape shape;
  DType dtype = DType::float32;
  bool trainable = true;
  Initializer initializer;
  /// The model's layer that holds it is not trainable as a whole: Keras 2's .h5 then keeps the order of its variables,
  /// whatever each one's own flag is; else trainable ones come first.
  bool in_frozen_layer = false;
  /// Where .weights.h5 keeps the same numbers again, for a layer that holds a variable of the layer inside it as its
  /// own; empty: nowhere.
  std::string store_again = {};
  std::optional<QuantizedPart> quantized = {};  ///< where it is part of a quantized weight
};

}  // namespace attn::graph
