// The rows that each family of layers gives to the table, and what families share.
#pragma once

#include <span>
#include <vector>

#include "table.h"

namespace attn::keras {

[[nodiscard]] std::span<const LayerRow> core_rows();
[[nodiscard]] std::span<const LayerRow> einsum_dense_rows();
[[nodiscard]] std::span<const LayerRow> attention_rows();
[[nodiscard]] std::span<const LayerRow> normalization_rows();
[[nodiscard]] std::span<const LayerRow> activation_rows();
[[nodiscard]] std::span<const LayerRow> regularization_rows();
[[nodiscard]] std::span<const LayerRow> preprocessing_rows();
[[nodiscard]] std::span<const LayerRow> merge_rows();
[[nodiscard]] std::span<const LayerRow> reshape_rows();
[[nodiscard]] std::span<const LayerRow> pooling_rows();
[[nodiscard]] std::span<const LayerRow> convolution_rows();
[[nodiscard]] std::span<const LayerRow> conv_transpose_rows();
[[nodiscard]] std::span<const LayerRow> rnn_rows();
[[nodiscard]] std::span<const LayerRow> rnn_cell_rows();
[[nodiscard]] std::span<const LayerRow> wrapper_rows();
[[nodiscard]] std::span<const LayerRow> keras_hub_position_rows();
[[nodiscard]] std::span<const LayerRow> keras_hub_token_rows();
[[nodiscard]] std::span<const LayerRow> keras_hub_transformer_rows();
[[nodiscard]] std::span<const LayerRow> keras_hub_vit_rows();

/// A row's `make` for a class that is told at construction which member of its family it is.
template <typename T, auto... kArguments>
std::unique_ptr<Layer> make_with() {
  return std::make_unique<T>(kArguments...);
}

/// keras.ops.normalize of order 2: x·min(1/√Σx², 1/ε) over `axes`.
[[nodiscard]] graph::ValueId l2_normalize(graph::Builder& b, graph::ValueId x, const std::vector<int>& axes,
                                          double epsilon);

}  // namespace attn::keras
