// The weights in a file, before they are matched to a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::weights {

/// The meaning of the names in a file.
enum class Naming : std::uint8_t {
  path,        ///< .npz, .safetensors: chosen by the file's writer, usually the weights' paths
  store_path,  ///< Keras 3's .weights.h5 and .keras: the position in the model
  layered      ///< the older .h5: paths of the Keras version that wrote it, in the order of its layers
};

/// A layer of the older .h5, and the number of its weights.
struct StoredLayer {
  std::string name;
  std::int64_t count = 0;
};

struct Store {
  std::string file;  ///< printable file name
  Naming naming = Naming::path;
  /// The weights in the order of the file; for .layered, layer by layer. Tensors may point into the memory-mapped file,
  /// which they keep open.
  std::vector<NamedTensor> weights;
  std::vector<StoredLayer> layers;  ///< for .layered: consecutive ranges of `weights`
  /// Saved arrays that are not weights: the state of optimizers, metrics and random generators.
  std::vector<NamedTensor> state;
};

}  // namespace attn::weights
