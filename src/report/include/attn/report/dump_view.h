// What a dump of a pass holds, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/report/values.h"
#include "attn/run/layer_arrays.h"

namespace attn::report {

/// "attn.dump/1": the setting of the pass, its inputs, and of each layer's array the layer, its class, which call and
/// result of it this is, and the dtype that was computed in (the file has bfloat16 as float32).
[[nodiscard]] std::string dump_json(const RunReport& report, const std::vector<run::LayerArray>& layers);

}  // namespace attn::report
