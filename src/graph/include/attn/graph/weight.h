// A model's description of a weight, before it has values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn::graph {

/// An initializer by its Keras class name and arguments; module weights implements the draws.
struct Initializer {
  std::string class_name = "Zeros";               ///< Keras class: "GlorotUniform", "RandomNormal", "Constant", …
  double scale = 1.0;                             ///< VarianceScaling
  std::string mode = "fan_in";                    ///< VarianceScaling: fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  ///< VarianceScaling
  double mean = 0.0, stddev = 0.05;               ///< RandomNormal, TruncatedNormal
  double minval = -0.05, maxval = 0.05;           ///< RandomUniform
  double gain = 1.0;                              ///< Orthogonal, Identity
  double value = 0.0;                             ///< Constant
  std::vector<double> values{};                   ///< Constant with an array: all elements, in row-major order
  /// For an LSTM's bias (4·units): the forget gate's quarter, the second, is ones. The initializer draws the first
  /// quarter, and the last two together, as if they were weights of their own.
  bool unit_forget = false;
  std::optional<std::int64_t> seed;
  /// The axes that count as inputs and as outputs for the fans. Empty: Keras follows a rule by rank. Keras 3.15 and
  /// later sets them for EinsumDense.
  std::vector<int> input_axes, output_axes;
};

/// The component of a quantized weight that a variable contains, and the float weight from which the component is
/// computed (keras/src/quantizers/quantizers.py).
struct QuantizedPart {
  enum class Kind : std::uint8_t { integers, scale, zero, groups };
  Kind kind = Kind::integers;
  std::string of;           ///< name of the float weight, "kernel", which replaces the variable's name in the path
  Shape shape{};            ///< shape of the float weight while it is quantized
  std::vector<int> axes{};  ///< the axes over which a scale is computed
  int bits = 8;
  Dim group = 0;  ///< the number of elements along an axis that share a 4-bit scale and zero point; 0: all
  /// The other axes in the order of the scales; empty: unchanged.
  std::vector<int> order{};
  int packed = -1;  ///< the axis along which two integers share a byte; −1: unpacked
};

/// One variable of a model, in Keras's order of creation.
struct WeightSpec {
  std::string path;        ///< Keras's path, "multi_head_attention/query/kernel", which determines the random numbers
  std::string store_path;  ///< path in .weights.h5: "layers/multi_head_attention/query_dense/vars/0"
  Shape shape;
  DType dtype = DType::float32;
  bool trainable = true;
  Initializer initializer;
  /// Set if the layer that owns the variable is frozen as a whole. Keras 2's .h5 then keeps the order of the variables
  /// regardless of their own flags; otherwise trainable variables come first.
  bool in_frozen_layer = false;
  /// The path of a second copy in .weights.h5, for a layer that also tracks a variable of its inner layer; empty:
  /// none.
  std::string store_again = {};
  std::optional<QuantizedPart> quantized = {};  ///< set if the variable is a component of a quantized weight
};

}  // namespace attn::graph
