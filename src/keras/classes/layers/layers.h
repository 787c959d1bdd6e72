// The rows that each family of layers gives to the table, and what families share.
#pragma once

#include <span>
#include <vector>

#include "classes/call.h"
#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] Family core_rows();
[[nodiscard]] Family einsum_dense_rows();
[[nodiscard]] Family attention_rows();
[[nodiscard]] Family normalization_rows();
[[nodiscard]] Family activation_rows();
[[nodiscard]] Family regularization_rows();
[[nodiscard]] Family preprocessing_rows();
[[nodiscard]] Family image_rows();
[[nodiscard]] Family merge_rows();
[[nodiscard]] Family reshape_rows();
[[nodiscard]] Family pooling_rows();
[[nodiscard]] Family convolution_rows();
[[nodiscard]] Family conv_transpose_rows();
[[nodiscard]] Family rnn_rows();
[[nodiscard]] Family rnn_cell_rows();
[[nodiscard]] Family wrapper_rows();
[[nodiscard]] Family keras_hub_position_rows();
[[nodiscard]] Family keras_hub_token_rows();
[[nodiscard]] Family keras_hub_transformer_rows();
[[nodiscard]] Family keras_hub_vit_rows();

/// keras.ops.normalize of order 2: x·min(1/√Σx², 1/ε) over `axes`.
[[nodiscard]] graph::ValueId l2_normalize(graph::Builder& b, graph::ValueId x, const std::vector<int>& axes,
                                          double epsilon);

}  // namespace attn::keras
