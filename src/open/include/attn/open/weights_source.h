// The weights of a file, with the model that determines their names.
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
  /// The model in the file or folder itself, if it can be read.
  std::optional<LoadedModel> model;
  /// The reason why the model in the archive cannot be read; its weights then keep their names in the file.
  std::optional<Error> unreadable{};

  /// Warns if the model cannot be read.
  void warn(const Listener& listener) const;
};

/// Reads any file of weights, or a folder with a model; also a .npy, whose only array has the name of the file. The
/// weights belong to `model`, or, if that is null, to the model in the file. Throws Error (bad_input) if the config of
/// a .keras archive is damaged.
[[nodiscard]] WeightsSource read_weights(const std::string& path, const LoadedModel* model, const Listener& listener);

/// Returns the weights under their paths in the model, as Keras shows them; under the file's own names without a model.
[[nodiscard]] std::vector<NamedTensor> named_weights(const WeightsSource& source, const LoadedModel* model);
/// Returns the weights under distinct names: weights that share a path in the model get their store_path instead.
/// Without a model, the names are the file's own.
[[nodiscard]] std::vector<NamedTensor> weights_by_place(const WeightsSource& source, const LoadedModel* model);

}  // namespace attn::open
