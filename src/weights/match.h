// Matches the weights of a file with those of a model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Removes what differs between the Keras versions that may have written a name: "\" for "/", a trailing ":0", leading
/// underscores of a component, and Keras 2.13's word for "layers".
[[nodiscard]] std::string plain_name(std::string_view name);

/// Returns for each spec the index of its weight in the store; empty for a spec without one. No weight is matched
/// twice.
[[nodiscard]] std::vector<std::optional<std::size_t>> match(std::span<const graph::WeightSpec> specs,
                                                            const Store& store);

}  // namespace attn::weights
