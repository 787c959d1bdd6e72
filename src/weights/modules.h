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

/// A layer of a Keras model. Parts are named by the ends of their paths: "query/kernel", "bias", "gamma".
struct KerasModule {
  ModuleKind kind;
  std::string name;                          ///< the path of the layer: "transformer_layer_0/self_attention_layer"
  std::map<std::string, std::size_t> parts;  ///< indices of specs
};

/// The model's attention, dense, normalization and embedding layers, in its order. Weights of others are in none.
[[nodiscard]] std::vector<KerasModule> keras_modules(std::span<const graph::WeightSpec> specs);

/// Where in its stack of blocks a module stands, as far as its name tells.
enum class ModulePlace : std::uint8_t {
  block,  ///< number `index` of the module's kind in block number `block`
  first,  ///< before the blocks
  last,   ///< behind them
  other   ///< anywhere
};

/// A module of a state dict. Parts are named as those of the Keras layer that it becomes.
struct TorchModule {
  struct Part {
    std::string name;  ///< of the array
    Tensor tensor;     ///< as PyTorch has it: (out, in) for a kernel
  };
  ModuleKind kind;
  std::string name;   ///< "encoder.layers.0.self_attn"
  std::string stack;  ///< what stands before the block's number: "encoder.layers."
  ModulePlace place = ModulePlace::other;
  std::int64_t block = 0;
  int index = 0;
  std::string role;  ///< of an embedding: "word", "position", "segment"
  std::map<std::string, Part> parts;
};

struct TorchModules {
  std::vector<TorchModule> modules;
  std::vector<std::string> unknown;  ///< names of arrays that no rule knows
};

/// Sorts the arrays of torch.nn.TransformerEncoder, TransformerEncoderLayer and MultiheadAttention and of Hugging
/// Face's BERT into modules; linear, normalization and embedding modules of any other name are `other`. Modules in
/// blocks come in the order of the blocks.
[[nodiscard]] TorchModules torch_modules(std::span<const NamedTensor> arrays);

}  // namespace attn::weights
