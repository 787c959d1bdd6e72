// The numbers of a model: from a file or a folder, or drawn.
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

namespace attn::library {

/// The weights of a model, and what decides under which names files have them.
struct WantedWeights {
  std::vector<graph::WeightSpec> specs;
  std::string backbone;        ///< the class of the backbone; of a model that is no task its own
  std::string backbone_store;  ///< what the places of the backbone's weights begin with; "" where the model is no task
};

[[nodiscard]] WantedWeights wanted_weights(const keras::Model& model);

/// What a file of weights has for the model, under names by which it finds them: those of transformers are translated,
/// and those of a backbone alone put where a task has it. Throws Error (bad_input).
[[nodiscard]] weights::Store under_model_names(const WantedWeights& wanted, weights::Store store);

/// The same of the file at `path`, or of a folder that read_model_file reads. Throws Error (bad_input).
[[nodiscard]] weights::Store read_weights(const WantedWeights& wanted, const std::string& path);

/// The model's weights out of such a file or folder, in the order of the specs. Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const WantedWeights& wanted, const std::string& path);

/// From initializers and the seed, drawn on so many threads (0: all cores); in the order of the specs. `drawn` is
/// called with each. Throws Error.
[[nodiscard]] std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed,
                                               int threads, const std::function<void(const Tensor&)>& drawn = {});

}  // namespace attn::library
