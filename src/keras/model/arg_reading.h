// Reads the arguments of calls in configs.
#pragma once

#include "classes/arg.h"
#include "config/json.h"

namespace attn::keras {

/// Reads an argument tree: tensors by history, constants, slices, lists and dicts.
[[nodiscard]] Arg read_arg(const Ref& ref);
/// Reads ["layer", 0, 0], or lists or dicts of these (input_layers, output_layers).
[[nodiscard]] Arg read_tensor_struct(const Ref& ref);

}  // namespace attn::keras
