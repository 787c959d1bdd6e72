// Weights in memory, in place of a file's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/model_text.h"
#include "attn/weights/store.h"

namespace attn::open {

/// Returns one tensor for each spec under the names of a .keras archive, and `state`, whose names are places there:
/// "optimizer/vars/0". The tensors are shared.
[[nodiscard]] std::shared_ptr<const weights::Store> stored_arrays(std::span<const graph::WeightSpec> specs,
                                                                  std::span<const Tensor> tensors,
                                                                  std::vector<NamedTensor> state = {});

/// Returns the model with another config, as Keras writes it, and with weights in memory.
[[nodiscard]] ModelText in_memory(const ModelText& source, std::string config,
                                  std::shared_ptr<const weights::Store> arrays);

/// Returns the weights that load_weights loads, with the dtypes of their file, and the optimizer's state. Drawn weights
/// have no state. Throws Error.
[[nodiscard]] weights::Store stored_weights_of(const LoadedModel& loaded, const Execution& execution,
                                               const Listener& listener);

}  // namespace attn::open
