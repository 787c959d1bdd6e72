// The numbers of a model's weights, out of a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// One tensor for each spec, in their order, of the spec's shape and dtype, matched as by agree(). A floating dtype
/// other than the spec's is converted. Throws Error (bad_input) that lists the weights which are missing, of another
/// shape or dtype, or not the model's.
[[nodiscard]] std::vector<Tensor> bind(std::span<const graph::WeightSpec> specs, const Store& store);
/// The same in the dtypes that the file has. Keras saves kernels with their low-rank additions (LoRA) merged in and no
/// factors: those that the file lacks are 0, so that nothing is added again.
[[nodiscard]] std::vector<Tensor> bind_as_stored(std::span<const graph::WeightSpec> specs, const Store& store);
/// The same as bind() out of a file that read_store reads. Call it by its full name: std::bind takes anything.
[[nodiscard]] std::vector<Tensor> bind(std::span<const graph::WeightSpec> specs, const std::string& path);

/// Throws as bind() does, and binds nothing.
void check_bound(std::span<const graph::WeightSpec> specs, const Store& store);

/// The specs without the factors of low-rank additions that the store lacks.
[[nodiscard]] std::vector<graph::WeightSpec> without_absent_factors(std::span<const graph::WeightSpec> specs,
                                                                    const Store& store);

}  // namespace attn::weights
