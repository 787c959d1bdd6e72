// The weights of a file, with the model that tells what they are called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/weights/store.h"

namespace attn::open {

struct WeightsSource {
  weights::Store store;
  /// The model in the file or folder itself, where there is one that can be read.
  std::optional<LoadedModel> model;
  /// Why the model in the archive cannot be read; its weights keep the names that the file gives them.
  std::optional<Error> unreadable{};

  /// Warns where the model cannot be read.
  void warn(const Listener& listener) const;
};

/// Any file of weights, or a folder that holds a model; also a .npy, whose one array is named as the file. They are the
/// weights of `model`, or where that is null of the model in the file. Throws Error (bad_input) where a .keras
/// archive's config is damaged.
[[nodiscard]] WeightsSource read_weights(const std::string& path, const LoadedModel* model, const Listener& listener);

/// The weights under the paths that the model gives them, as Keras shows them; under the file's own names without a
/// model.
[[nodiscard]] std::vector<NamedTensor> named_weights(const WeightsSource& source, const LoadedModel* model);
/// The same, where weights that share a path have names that tell them apart.
[[nodiscard]] std::vector<NamedTensor> apart_weights(const WeightsSource& source, const LoadedModel* model);

}  // namespace attn::open
