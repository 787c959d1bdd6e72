// A config and a file that say different ways to quantize.
#pragma once

#include <span>
#include <string>

#include "attn/graph/weight.h"
#include "attn/weights/agreement.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// For the end of a message, where the first layer whose weights do not go together with the file's is quantized in one
/// way by the config and in another by the file: "; the config says int4, and the file holds int8". Else "".
[[nodiscard]] std::string quantized_otherwise(std::span<const graph::WeightSpec> specs, const Store& store,
                                              const Agreement& agreement);

}  // namespace attn::weights
