// The rows that each family of layers gives to the table.
#pragma once

#include <span>

#include "table.h"

namespace attn::keras {

[[nodiscard]] std::span<const LayerRow> core_rows();
[[nodiscard]] std::span<const LayerRow> attention_rows();
[[nodiscard]] std::span<const LayerRow> normalization_rows();
[[nodiscard]] std::span<const LayerRow> merge_rows();
[[nodiscard]] std::span<const LayerRow> reshape_rows();
[[nodiscard]] std::span<const LayerRow> pooling_rows();
[[nodiscard]] std::span<const LayerRow> convolution_rows();
[[nodiscard]] std::span<const LayerRow> rnn_rows();

}  // namespace attn::keras
