// Which module of a PyTorch state dict is which layer of a Keras model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modules.h"

namespace attn::weights {

/// For each module the index of its layer, if it has one. No layer is given twice. Modules and layers of the same kind
/// go together; whether their parts do is left to the caller.
[[nodiscard]] std::vector<std::optional<std::size_t>> pair_modules(const std::vector<TorchModule>& torch,
                                                                   const std::vector<KerasModule>& keras,
                                                                   std::span<const graph::WeightSpec> specs);

/// The shape in which PyTorch keeps what becomes this part of a layer: kernels as (out, in), biases as one axis.
[[nodiscard]] Shape torch_shape(const std::string& part, const graph::WeightSpec& spec);

}  // namespace attn::weights
