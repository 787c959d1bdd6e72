// The records of each family of layers for the class table, and helpers of several families.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "classes/call.h"
#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] Family core_classes();
[[nodiscard]] Family embedding_classes();
[[nodiscard]] Family einsum_dense_classes();
[[nodiscard]] Family multi_head_attention_classes();
[[nodiscard]] Family grouped_query_attention_classes();
[[nodiscard]] Family dot_attention_classes();
[[nodiscard]] Family normalization_classes();
[[nodiscard]] Family activation_classes();
[[nodiscard]] Family regularization_classes();
[[nodiscard]] Family preprocessing_classes();
[[nodiscard]] Family category_classes();
[[nodiscard]] Family text_classes();
[[nodiscard]] Family image_classes();
[[nodiscard]] Family image_converter_classes();
[[nodiscard]] Family spectrogram_classes();
[[nodiscard]] Family merge_classes();
[[nodiscard]] Family reshape_classes();
[[nodiscard]] Family pooling_classes();
[[nodiscard]] Family convolution_classes();
[[nodiscard]] Family conv_transpose_classes();
[[nodiscard]] Family rnn_classes();
[[nodiscard]] Family rnn_cell_classes();
[[nodiscard]] Family conv_lstm_classes();
[[nodiscard]] Family wrapper_classes();
[[nodiscard]] Family keras_hub_position_classes();
[[nodiscard]] Family keras_hub_token_classes();
[[nodiscard]] Family keras_hub_transformer_classes();
[[nodiscard]] Family refused_layers();

/// The key `groups` of Keras 2. Keras 3 has no such key, and always has a single group.
inline constexpr std::array kOneGroup = {Keras2Key{"groups", {}, "1"}};

/// Returns keras.ops.normalize of order 2: x·min(1/√Σx², 1/ε) over `axes`.
[[nodiscard]] graph::ValueId l2_normalize(graph::Builder& b, graph::ValueId x, const std::vector<int>& axes,
                                          double epsilon);

}  // namespace attn::keras
