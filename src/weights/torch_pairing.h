// Matches the modules of a PyTorch state dict with the layers of a Keras model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modules.h"

namespace attn::weights {

/// Returns for each module the index of its layer; empty for a module without one. No layer is matched twice. Modules
/// and layers of the same kind are matched; the caller checks whether their parts match.
[[nodiscard]] std::vector<std::optional<std::size_t>> pair_modules(const std::vector<TorchModule>& torch,
                                                                   const std::vector<KerasModule>& keras,
                                                                   std::span<const graph::WeightSpec> specs);

/// Returns the shape of this part of a layer in PyTorch: kernels are (out, in), biases have one axis.
[[nodiscard]] Shape torch_shape(const std::string& part, const graph::WeightSpec& spec);

}  // namespace attn::weights
