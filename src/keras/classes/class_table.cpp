#include "classes/class_table.h"

#include "attn/base/error.h"
#include "classes/layers/layers.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

const LayerRow* find_in(Family family, std::string_view class_name) {
  for (const LayerRow& row : family)
    if (row.class_name == class_name || (!row.shown.empty() && row.shown == class_name)) return &row;
  return nullptr;
}

}  // namespace

const LayerRow* ClassTable::find(std::string_view class_name) const {
  for (const Family family : families_)
    if (const LayerRow* row = find_in(family, class_name)) return row;
  return nullptr;
}

std::vector<std::string_view> ClassTable::names() const {
  std::vector<std::string_view> out;
  for (const Family family : families_)
    for (const LayerRow& row : family) out.push_back(row.class_name);
  return out;
}

const LayerRow& class_in(Family family, std::string_view class_name) {
  const LayerRow* row = find_in(family, class_name);
  if (row == nullptr) throw internal_error("no class '{}' in its family", class_name);
  return *row;
}

std::vector<Family> layer_families() {
  return {core_rows(),
          einsum_dense_rows(),
          attention_rows(),
          normalization_rows(),
          activation_rows(),
          regularization_rows(),
          preprocessing_rows(),
          image_rows(),
          merge_rows(),
          reshape_rows(),
          pooling_rows(),
          convolution_rows(),
          conv_transpose_rows(),
          rnn_rows(),
          rnn_cell_rows(),
          wrapper_rows(),
          keras_hub_position_rows(),
          keras_hub_token_rows(),
          keras_hub_transformer_rows(),
          keras_hub_vit_rows()};
}

const ClassTable& operation_classes() {
  static const ClassTable table({elementwise_operations(), activation_operations(), reduction_operations(),
                                 layout_operations(), arrangement_operations(), diagonal_operations(),
                                 rearrange_operations(), indexing_operations(), joining_operations(),
                                 sorting_operations(), creation_operations(), product_operations(),
                                 normalization_operations(), attention_operations(), window_operations()});
  return table;
}

}  // namespace attn::keras
