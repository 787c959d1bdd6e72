// The setting of a run or benchmark, as text and as JSON members.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/report/values.h"

namespace attn::report {

/// Returns the setting in words: "cpu (onednn), float32, batch 1, length 50, 2 threads". The matmul precision is
/// included if it is not the highest.
[[nodiscard]] std::string setting_text(const Setting& setting);

/// Returns the treatment of padding in words: "mean length 0.6, padding skipped", or one of the two.
[[nodiscard]] std::string padding_text(const Setting& setting);

/// Returns a line of a header: "  weights: random, seed 0"; "" if there are no weights.
[[nodiscard]] std::string weights_line(const Setting& setting);

/// Returns the setting as JSON with the members model, device, backend, dtype, matmul_precision, batch, seq_len,
/// threads; weights, test, mean_length and skip_padding if they are set.
[[nodiscard]] Json setting_json(const Setting& setting);

/// Returns an input as JSON with the members name, shape, dtype, source.
[[nodiscard]] Json input_json(const InputReport& input);

}  // namespace attn::report
