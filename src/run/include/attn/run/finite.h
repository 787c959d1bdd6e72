// Finds the layer in which NaN or infinities appear first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// An array that contains NaN or infinities.
struct NonFinite {
  std::string name;  ///< name of the input, weight or layer: "block/dense"
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t nan_count = 0, inf_count = 0;
  std::vector<std::int64_t> first_index;
  double first_value = 0;
};

/// An output of a layer that contains NaN or infinities.
struct NonFiniteOutput {
  NonFinite array;
  std::string class_name;
  int call = 0;         ///< index of the layer's call: 0, 1, …
  int output = 0;       ///< index of the result
  bool source = false;  ///< the values appeared here: the layer's inputs are all finite
  /// The weights of a source that contain NaN or infinities.
  std::vector<NonFinite> weights;
};

struct FiniteCheck {
  std::vector<NonFinite> inputs;         ///< the model's inputs that contain NaN or infinities
  std::vector<NonFiniteOutput> outputs;  ///< in execution order; a layer precedes the model that contains it
  std::int64_t checked = 0;              ///< layer outputs of a floating dtype

  [[nodiscard]] bool finite() const { return inputs.empty() && outputs.empty(); }
  /// Returns the first layer in which NaN or infinities appeared, otherwise null.
  [[nodiscard]] const NonFiniteOutput* source() const;
};

/// Checks the layer outputs of a pass. `graph` is the lowered graph, `inputs` and `weights` are in its order, and
/// `outputs` come from Session::layer_outputs().
[[nodiscard]] FiniteCheck check_finite(const graph::Graph& graph, std::span<const Tensor> inputs,
                                       std::span<const Tensor> weights, const std::vector<LayerOutput>& outputs);

}  // namespace attn::run
