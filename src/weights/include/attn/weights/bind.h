// Loads a model's weights from a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Returns one tensor for each spec, in order, with the spec's shape and dtype; matched by agree(). Other floating
/// dtypes are converted. Throws Error (bad_input) that lists weights which are missing, of another shape or dtype, or
/// not in the model.
[[nodiscard]] std::vector<Tensor> bind(std::span<const graph::WeightSpec> specs, const Store& store);
/// Returns one tensor for each spec as bind() does, but with the dtypes of the file. Keras saves kernels with their
/// low-rank updates (LoRA) merged in, and without the factors: missing factors are 0, so that nothing is added twice.
[[nodiscard]] std::vector<Tensor> bind_as_stored(std::span<const graph::WeightSpec> specs, const Store& store);
/// Returns one tensor for each spec from a file that read_store() reads, as bind() does for its store. Must be called
/// with its namespace, because std::bind accepts anything.
[[nodiscard]] std::vector<Tensor> bind(std::span<const graph::WeightSpec> specs, const std::string& path);

/// Throws the errors of bind(), without binding.
void check_bound(std::span<const graph::WeightSpec> specs, const Store& store);

/// Returns the specs without low-rank factors that the store lacks.
[[nodiscard]] std::vector<graph::WeightSpec> without_absent_factors(std::span<const graph::WeightSpec> specs,
                                                                    const Store& store);

}  // namespace attn::weights
