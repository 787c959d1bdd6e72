#include "classes/class_table.h"

#include "attn/base/error.h"
#include "classes/layers/layers.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

const ClassInfo* find_in(Family family, std::string_view class_name) {
  if (class_name.empty()) return nullptr;
  for (const ClassInfo& info : family)
    if (info.name == class_name || info.shown == class_name || info.also == class_name) return &info;
  return nullptr;
}

}  // namespace

const ClassInfo* ClassTable::find(std::string_view class_name) const {
  for (const Family family : families_)
    if (const ClassInfo* info = find_in(family, class_name)) return info;
  return nullptr;
}

std::vector<std::string_view> ClassTable::names() const {
  std::vector<std::string_view> out;
  for (const Family family : families_)
    for (const ClassInfo& info : family)
      if (info.refused.empty()) out.push_back(info.name);
  return out;
}

const ClassInfo& class_in(Family family, std::string_view class_name) {
  const ClassInfo* info = find_in(family, class_name);
  if (info == nullptr) throw internal_error("no class '{}' in its family", class_name);
  return *info;
}

std::vector<Family> layer_families() {
  return {core_classes(),
          embedding_classes(),
          einsum_dense_classes(),
          multi_head_attention_classes(),
          grouped_query_attention_classes(),
          dot_attention_classes(),
          normalization_classes(),
          activation_classes(),
          regularization_classes(),
          preprocessing_classes(),
          category_classes(),
          text_classes(),
          image_classes(),
          image_converter_classes(),
          spectrogram_classes(),
          merge_classes(),
          reshape_classes(),
          pooling_classes(),
          convolution_classes(),
          conv_transpose_classes(),
          rnn_classes(),
          rnn_cell_classes(),
          conv_lstm_classes(),
          wrapper_classes(),
          keras_hub_position_classes(),
          keras_hub_token_classes(),
          keras_hub_transformer_classes(),
          refused_layers()};
}

const ClassTable& operation_classes() {
  static const ClassTable table(
      {elementwise_operations(),   activation_operations(), reduction_operations(),     layout_operations(),
       arrangement_operations(),   diagonal_operations(),   rearrange_operations(),     indexing_operations(),
       joining_operations(),       sorting_operations(),    creation_operations(),      product_operations(),
       normalization_operations(), attention_operations(),  window_operations(),        linalg_operations(),
       bit_operations(),           signal_operations(),     image_operations(),         warp_operations(),
       scatter_operations(),       search_operations(),     number_theory_operations(), spacing_operations(),
       vector_operations(),        refused_operations()});
  return table;
}

}  // namespace attn::keras
