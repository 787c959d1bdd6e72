// The policies of quantized layers inside layers, as a DTypePolicyMap.
#pragma once

#include "classes/layer.h"

namespace attn::keras {

/// Returns the map of the quantized layers in `layer`, in Keras's traversal order; null if there are none, or if the
/// layer already has a map. `names_default`: the map includes the dtypes of the layer's policy; otherwise its reader
/// adds them, as in KerasHub.
[[nodiscard]] std::shared_ptr<const PolicyMap> policies_in(Layer& layer, bool names_default);

/// Sets a map of policies on every layer of `root` that is not a model and whose config needs one.
void state_policies(Layer& root);

}  // namespace attn::keras
