// The match of a file's weights with those of a model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// The match of the model's weights ("specs") and the file's (Store::weights), as indices.
struct Agreement {
  std::vector<std::optional<std::size_t>> matches;  ///< for each spec, its weight in the file
  std::vector<std::size_t> missing;                 ///< specs that the file lacks
  std::vector<std::size_t> extra;                   ///< weights of the file that the model lacks
  std::vector<std::size_t> wrong_shape;             ///< specs whose weight in the file has another shape
  std::vector<std::size_t> wrong_dtype;  ///< specs whose weight has a dtype that is never converted to theirs

  [[nodiscard]] bool whole() const noexcept {
    return missing.empty() && extra.empty() && wrong_shape.empty() && wrong_dtype.empty();
  }
};

/// Matches names exactly if possible, otherwise without the differences between Keras versions (leading underscores,
/// ":0"). Weights of the older .h5 are also matched by their order in each layer, as in Keras. A floating dtype matches
/// any other; integers and bools match only their own.
[[nodiscard]] Agreement agree(std::span<const graph::WeightSpec> specs, const Store& store);

/// Returns the file's weights. First come those that the model has, in the model's order and with Keras's paths
/// (several may share a path). The others follow with their names in the file.
[[nodiscard]] std::vector<NamedTensor> with_paths(std::span<const graph::WeightSpec> specs, const Store& store);
/// Returns the file's weights in the order of with_paths(). Those that the model has are named by file_names(), so that
/// every name is unique.
[[nodiscard]] std::vector<NamedTensor> with_file_names(std::span<const graph::WeightSpec> specs, const Store& store);

}  // namespace attn::weights
