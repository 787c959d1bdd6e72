// Writing a model's weights.
#pragma once

#include <span>
#include <string>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// Throws Error (usage) where the path ends in nothing that save knows, so that a command can say so at once.
void check_save_path(const std::string& path);

/// Writes .weights.h5, which Keras's model.load_weights reads, .safetensors or .npz by the path's ending, whole or not
/// at all. There is one tensor for each spec. Arrays are named by the weights' paths; weights that share a path by
/// their store_path. Throws Error (usage) for another ending, and (bad_input) where the file cannot be written.
void save(const std::string& path, std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors);

}  // namespace attn::weights
