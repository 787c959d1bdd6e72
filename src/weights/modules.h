// The layers that a PyTorch state dict and a Keras model have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

enum class ModuleKind : std::uint8_t { attention, dense, norm, embedding };

/// A layer of a Keras model. Parts are named by the suffixes of their paths: "query/kernel", "bias", "gamma".
struct KerasModule {
  ModuleKind kind;
  std::string name;                          ///< path of the layer: "transformer_layer_0/self_attention_layer"
  std::map<std::string, std::size_t> parts;  ///< for each part, the index of its spec
};

/// Returns the model's attention, dense, normalization and embedding layers, in order. Weights of other layers are not
/// included.
[[nodiscard]] std::vector<KerasModule> keras_modules(std::span<const graph::WeightSpec> specs);

/// The position of a module relative to its stack of blocks, according to its name.
enum class ModulePlace : std::uint8_t {
  block,  ///< module `index` of its kind in block `block`
  first,  ///< a module before the blocks
  last,   ///< a module after the blocks
  other   ///< unknown
};

/// A module of a state dict. Its parts have the names of the Keras layer that it becomes.
struct TorchModule {
  struct Part {
    std::string name;  ///< name of the array
    Tensor tensor;     ///< the array in PyTorch's layout: (out, in) for a kernel
  };
  ModuleKind kind;
  std::string name;   ///< name of the module: "encoder.layers.0.self_attn"
  std::string stack;  ///< the prefix of the block's number: "encoder.layers."
  ModulePlace place = ModulePlace::other;
  std::int64_t block = 0;
  int index = 0;
  std::string role;  ///< role of an embedding: "word", "position", "segment"
  std::map<std::string, Part> parts;
};

struct TorchModules {
  std::vector<TorchModule> modules;
  std::vector<std::string> unknown;  ///< names of arrays that match no rule
};

/// Groups the arrays of torch.nn.TransformerEncoder, TransformerEncoderLayer and MultiheadAttention and of Hugging
/// Face's BERT into modules; linear, normalization and embedding modules with other names are `other`. Modules in
/// blocks are in the order of the blocks.
[[nodiscard]] TorchModules torch_modules(std::span<const NamedTensor> arrays);

}  // namespace attn::weights
