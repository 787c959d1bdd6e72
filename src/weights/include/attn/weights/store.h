// The weights that a file holds, before any model claims them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::weights {

/// What the names of a file's weights are.
enum class Naming : std::uint8_t {
  path,        ///< .npz, .safetensors: what the file's writer chose, best the weights' paths
  store_path,  ///< Keras 3's .weights.h5 and .keras: where Keras keeps each
  layered      ///< the older .h5: paths as the Keras that wrote it made them, in the order of its layers
};

/// A layer of the older .h5, and how many of the weights are its own.
struct StoredLayer {
  std::string name;
  std::int64_t count = 0;
};

struct Store {
  std::string file;  ///< its name, fit to print
  Naming naming = Naming::path;
  /// In the file's order; of .layered, layer by layer. The tensors may lie in the mapped file, which they keep alive.
  std::vector<NamedTensor> weights;
  std::vector<StoredLayer> layers;  ///< of .layered: they share out `weights` in order
  /// What was saved along and is no weight: the state of optimizers, metrics and random generators.
  std::vector<NamedTensor> state;
};

}  // namespace attn::weights
