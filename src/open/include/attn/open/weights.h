// The weights of a model: from a file or a folder, or drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/keras/model.h"
#include "attn/weights/store.h"

namespace attn::open {

/// The weights of a model, with the information that determines their names in files.
struct WantedWeights {
  std::vector<graph::WeightSpec> specs;
  std::string backbone;        ///< class of the backbone; for a model that is not a task, its own class
  std::string backbone_store;  ///< path prefix of the backbone's weights; "" if the model is not a task
  /// The beginning of the paths of weights on which the result does not depend; empty if there are none.
  std::string unused{};
};

[[nodiscard]] WantedWeights wanted_weights(const keras::Model& model);

/// Maps the weights of a file to the model's names: names of transformers are translated, and those of a plain backbone
/// are placed inside the task. Throws Error (bad_input).
[[nodiscard]] weights::Store under_model_names(const WantedWeights& wanted, weights::Store store);

/// Reads the file at `path`, or a folder that read_model_file reads, and maps the weights to the model's names. Throws
/// Error (bad_input).
[[nodiscard]] weights::Store read_weights(const WantedWeights& wanted, const std::string& path);

/// Loads the model's weights from a file or folder that read_weights accepts, in the order of the specs. Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const WantedWeights& wanted, const std::string& path);

/// Draws weights from initializers and the seed on this many threads (0: all cores), in the order of the specs, and
/// calls `drawn` with each. Throws Error.
[[nodiscard]] std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed,
                                               int threads, const std::function<void(const Tensor&)>& drawn = {});

}  // namespace attn::open
