// The KV cache of a decoder, as text and as JSON. Private to the module.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/report/plan_report.h"

namespace attn::report {

[[nodiscard]] std::string cache_text(const DecoderCache& cache);
/// Returns the cache as JSON with the members sequences, positions, token_bytes, bytes, layers.
[[nodiscard]] Json cache_json(const DecoderCache& cache);

}  // namespace attn::report
