// The setting of a run or a measurement, as text and as JSON members.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/report/values.h"

namespace attn::report {

/// "cpu (onednn), float32, batch 1, length 50, 2 threads"; the precision of products where it is not the highest.
[[nodiscard]] std::string setting_text(const Setting& setting);

/// "mean length 0.6, padding skipped", or what of it there is.
[[nodiscard]] std::string padding_text(const Setting& setting);

/// "  weights: random, seed 0", a line of a header; "" where there are none.
[[nodiscard]] std::string weights_line(const Setting& setting);

/// model, device, backend, dtype, matmul_precision, batch, seq_len, threads; weights where there are some, test,
/// mean_length and skip_padding where there are any.
[[nodiscard]] Json setting_json(const Setting& setting);

/// name, shape, dtype, source.
[[nodiscard]] Json input_json(const InputReport& input);

}  // namespace attn::report
