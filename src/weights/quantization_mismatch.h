// Detects a config and a weight file with different quantization.
#pragma once

#include <span>
#include <string>

#include "attn/graph/weight.h"
#include "attn/weights/agreement.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Returns the end of a message if the first layer whose weights do not match is quantized in one way by the config and
/// in another by the file: "; the config says int4, and the file holds int8". Otherwise "".
[[nodiscard]] std::string quantization_mismatch(std::span<const graph::WeightSpec> specs, const Store& store,
                                                const Agreement& agreement);

}  // namespace attn::weights
