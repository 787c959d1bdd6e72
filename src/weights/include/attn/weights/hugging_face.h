// Weights under the names that transformers gives them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Are these the weights of a model of transformers, of the family that the class of a backbone belongs to?
[[nodiscard]] bool is_hugging_face(const Store& store, std::string_view backbone,
                                   std::span<const graph::WeightSpec> specs);

/// The same weights under the model's own names (file_names) and in its layouts, of the dtypes that the file has.
/// Arrays beside the model, such as another head's, are left out. Throws Error (bad_input) that lists arrays which are
/// missing, of another shape, or in the model's blocks and none of its weights.
[[nodiscard]] Store from_hugging_face(std::span<const graph::WeightSpec> specs, std::string_view backbone,
                                      const Store& store);

/// The model's weights as transformers names and lays them out; there is one tensor for each spec. `with_head`: of a
/// task, so that the backbone's names have a prefix. Throws Error (bad_input) for a family that has no names there.
[[nodiscard]] std::vector<NamedTensor> to_hugging_face(std::span<const graph::WeightSpec> specs,
                                                       std::span<const Tensor> tensors, std::string_view backbone,
                                                       bool with_head);

}  // namespace attn::weights
