// The contents of a dump of a pass, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/report/values.h"
#include "attn/run/layer_arrays.h"

namespace attn::report {

/// "attn.dump/1": the setting of the pass, its inputs, and for each array its layer, the layer's class, the indices of
/// call and result, and the dtype of the computation (bfloat16 is stored as float32).
[[nodiscard]] std::string dump_json(const RunReport& report, const std::vector<run::LayerArray>& layers);

}  // namespace attn::report
