// A PyTorch state dict as the weights of a Keras model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Where the numbers of one of the model's weights come from.
struct TorchSource {
  std::string array;  ///< its name in the file; that of in_proj_weight stands three times
  Tensor tensor;      ///< of the weight's shape and the file's dtype
};

/// One source for each spec, in their order, out of the state dict of a torch.nn.TransformerEncoder,
/// TransformerEncoderLayer or MultiheadAttention, or of Hugging Face's BERT: attention layers go together in their
/// order, the dense layers and normalizations of a block by their places in it, embeddings by their names, and what is
/// left by name or, where only one fits, by shape. Kernels are turned from (out, in) to Keras's (in, heads, size) and
/// (in, out). Throws Error (bad_input) that lists every array and every weight without a counterpart, or of another
/// shape.
[[nodiscard]] std::vector<TorchSource> from_torch(std::span<const graph::WeightSpec> specs, const Store& state_dict);

}  // namespace attn::weights
