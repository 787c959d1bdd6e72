// Converts a PyTorch state dict to the weights of a Keras model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// The source of one of the model's weights.
struct TorchSource {
  std::string array;  ///< name of the array in the file; in_proj_weight is the source of three weights
  Tensor tensor;      ///< the weight, with its own shape and the file's dtype
};

/// Returns one source for each spec, in order, from the state dict of a torch.nn.TransformerEncoder,
/// TransformerEncoderLayer or MultiheadAttention, or of Hugging Face's BERT. Layers are matched as follows:
/// - attention layers by their order
/// - dense layers and normalizations of a block by their position in it
/// - embeddings by name
/// - other layers by name, or by shape if only one matches
/// Kernels are transposed from (out, in) to Keras's (in, heads, size) and (in, out). Throws Error (bad_input) that
/// lists every array and every weight without a counterpart, or with another shape.
[[nodiscard]] std::vector<TorchSource> from_torch(std::span<const graph::WeightSpec> specs, const Store& state_dict);

}  // namespace attn::weights
