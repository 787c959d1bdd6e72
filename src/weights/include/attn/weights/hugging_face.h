// Weights with the names of Hugging Face's transformers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/name_table.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Returns whether `store` has, by one of the tables, the weights of a transformers model of the backbone's family.
[[nodiscard]] bool is_hugging_face(const Store& store, std::span<const NameTable> tables, std::string_view backbone,
                                   std::span<const graph::WeightSpec> specs);

/// Converts weights of transformers to the model's own names (file_names) and layouts, with the dtypes of the file.
/// Arrays outside the model, such as another head's, are left out. Weights whose path begins with `unused` ("" for
/// none) do not affect the model's result, and keep their initial values if the file lacks them. Throws Error
/// (bad_input) that lists arrays which are missing, have another shape, or are in the model's blocks without a
/// counterpart.
[[nodiscard]] Store from_hugging_face(std::span<const graph::WeightSpec> specs, std::span<const NameTable> tables,
                                      std::string_view backbone, std::string_view unused, const Store& store);

/// Converts the model's weights to the names and layouts of transformers; there is one tensor for each spec.
/// `with_head`: of a task, so the backbone's names have a prefix. Throws Error (bad_input) for a family without a table
/// of names.
[[nodiscard]] std::vector<NamedTensor> to_hugging_face(std::span<const graph::WeightSpec> specs,
                                                       std::span<const Tensor> tensors,
                                                       std::span<const NameTable> tables, std::string_view backbone,
                                                       bool with_head);

}  // namespace attn::weights
