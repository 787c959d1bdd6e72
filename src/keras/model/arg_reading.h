// Arguments of calls as configs write them.
#pragma once

#include "classes/arg.h"
#include "config/json.h"

namespace attn::keras {

/// An argument tree of a config: tensors by history, constants, slices, lists and dicts.
[[nodiscard]] Arg read_arg(const Ref& ref);
/// ["layer", 0, 0], or lists or dicts of them (input_layers, output_layers).
[[nodiscard]] Arg read_tensor_struct(const Ref& ref);

}  // namespace attn::keras
