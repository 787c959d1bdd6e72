// The policies of quantized layers inside of layers, as a DTypePolicyMap.
#pragma once

#include "classes/layer.h"

namespace attn::keras {

/// The map of the quantized layers in `layer`, in the order in which Keras goes through them; null where there are none
/// or the layer says it already. `names_default`: with the dtypes of the layer's policy; else they are left to whoever
/// reads it, as KerasHub does.
[[nodiscard]] std::shared_ptr<const PolicyMap> policies_in(Layer& layer, bool names_default);

/// Puts such a map on every layer of `root` that is no model and whose config has to tell it.
void state_policies(Layer& root);

}  // namespace attn::keras
