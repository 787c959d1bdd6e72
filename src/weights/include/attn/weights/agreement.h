// How the weights of a file and those of a model go together.
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

/// Indices of the model's weights ("specs") and of the file's (Store::weights).
struct Agreement {
  std::vector<std::optional<std::size_t>> matches;  ///< per spec, its weight in the file
  std::vector<std::size_t> missing;                 ///< specs that the file does not have
  std::vector<std::size_t> extra;                   ///< weights of the file that the model does not have
  std::vector<std::size_t> wrong_shape;             ///< specs whose weight in the file is of another shape
  std::vector<std::size_t> wrong_dtype;  ///< specs whose weight is of a dtype that is never converted to theirs

  [[nodiscard]] bool whole() const noexcept {
    return missing.empty() && extra.empty() && wrong_shape.empty() && wrong_dtype.empty();
  }
};

/// Names are matched exactly where they can be, else without what differs between Keras's versions (leading
/// underscores, ":0"); in the older .h5 also by their order in each layer, as Keras does. A floating dtype goes with
/// any other; integers and bools go with their own alone.
[[nodiscard]] Agreement agree(std::span<const graph::WeightSpec> specs, const Store& store);

/// The file's weights under Keras's paths where the model has them, in its order, and then the others as the file calls
/// them. Several may share a path.
[[nodiscard]] std::vector<NamedTensor> with_paths(std::span<const graph::WeightSpec> specs, const Store& store);
/// The same under file_names, so that each has a name of its own.
[[nodiscard]] std::vector<NamedTensor> with_file_names(std::span<const graph::WeightSpec> specs, const Store& store);

}  // namespace attn::weights
