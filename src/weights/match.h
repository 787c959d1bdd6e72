// Which weight of a file is which of a model.
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

/// A name without what differs between the versions of Keras that may have written it: "\" for "/", ":0" at the end,
/// underscores before a part, and Keras 2.13's word for "layers".
[[nodiscard]] std::string plain_name(std::string_view name);

/// For each spec the index of its weight in the store; nothing for a spec that has none. No weight is given twice.
[[nodiscard]] std::vector<std::optional<std::size_t>> match(std::span<const graph::WeightSpec> specs,
                                                            const Store& store);

}  // namespace attn::weights
