// The numbers of a model: from a file, or drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::library {

/// From `file` where there is one, else from initializers and the seed, drawn on so many threads (0: all cores); in the
/// order of the specs. `drawn` is called with each weight that was drawn. Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(std::span<const graph::WeightSpec> specs,
                                               const std::optional<std::string>& file, std::uint64_t seed, int threads,
                                               const std::function<void(const Tensor&)>& drawn = {});

}  // namespace attn::library
