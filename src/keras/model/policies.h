// The policies of quantized layers inside layers, as a DTypePolicyMap.
#pragma once

#include "classes/layer.h"

namespace attn::keras {

/// The map of the quantized layers in `layer`, in Keras's traversal order; null if there are none or the layer already
/// has it. `names_default`: includes the dtypes of the layer's policy; otherwise the reader adds them, as in KerasHub.
[[nodiscard]] std::shared_ptr<const PolicyMap> policies_in(Layer& layer, bool names_default);

/// Sets such a map on every layer of `root` that is not a model and whose config needs it.
void state_policies(Layer& root);

}  // namespace attn::keras
