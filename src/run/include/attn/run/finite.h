// Where NaN and infinities come into a pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// An array that holds NaN or infinities.
struct NonFinite {
  std::string name;  ///< of the input or weight, or the layer: "block/dense"
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t nan_count = 0, inf_count = 0;
  std::vector<std::int64_t> first_index;
  double first_value = 0;
};

/// The output of a layer that holds NaN or infinities.
struct NonFiniteOutput {
  NonFinite array;
  std::string class_name;
  int call = 0;         ///< which application of the layer: 0, 1, …
  int output = 0;       ///< which of its results
  bool source = false;  ///< it came about here: nothing that came into the layer holds any
  /// A source's weights that hold some.
  std::vector<NonFinite> weights;
};

struct FiniteCheck {
  std::vector<NonFinite> inputs;         ///< the inputs of the model that hold some
  std::vector<NonFiniteOutput> outputs;  ///< in the order of execution, and a layer before the model it is part of
  std::int64_t checked = 0;              ///< layer outputs of a floating dtype

  [[nodiscard]] bool finite() const { return inputs.empty() && outputs.empty(); }
  /// The first layer in which they came about, else null.
  [[nodiscard]] const NonFiniteOutput* source() const;
};

/// Looks at what the layers of a pass gave. `graph` is as it was lowered, `inputs` and `weights` are in its order, and
/// `outputs` are Session::layer_outputs().
[[nodiscard]] FiniteCheck check_finite(const graph::Graph& graph, std::span<const Tensor> inputs,
                                       std::span<const Tensor> weights, const std::vector<LayerOutput>& outputs);

}  // namespace attn::run
