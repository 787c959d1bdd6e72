// The structures of tensors in configs and calls: lists and dicts, as in keras.tree.
#pragma once

#include <vector>

#include "classes/layer.h"

namespace attn::keras {

/// Collects the tensor references of a config's argument, in the order of keras.tree.flatten.
void collect_refs(const Arg& arg, std::vector<TensorRef>& out);

/// Returns `arg` with every TensorRef replaced by the result of `resolve` for it.
template <typename Resolve>
Arg resolved(const Arg& arg, Resolve&& resolve) {
  if (const auto* ref = arg.as<TensorRef>()) return resolve(*ref);
  if (const auto* list = arg.as<ArgList>()) {
    ArgList out;
    for (const Arg& item : *list) out.push_back(resolved(item, resolve));
    return out;
  }
  if (const auto* dict = arg.as<ArgDict>()) {
    ArgDict out;
    for (const auto& [key, item] : *dict) out.emplace_back(key, resolved(item, resolve));
    return out;
  }
  return arg;
}

/// Returns `tensors` in the structure of a model's outputs; a list of one tensor is unpacked (unpack_singleton).
[[nodiscard]] Arg packed(const Arg& structure, const std::vector<TensorPtr>& tensors);

/// Returns the values of a call in the order of the model's inputs, whose layers are `layers`. They are matched by name
/// if a dict is passed for a list of inputs, otherwise by the order of keras.tree. Throws Error (bad_input).
[[nodiscard]] std::vector<TensorPtr> ordered_inputs(const Arg& given, const Arg& structure,
                                                    const std::vector<Layer*>& layers);

/// Returns the masks of the inputs, which a call may pass in the structure of the inputs; null for None.
[[nodiscard]] std::vector<TensorPtr> ordered_masks(const Arg& given);

}  // namespace attn::keras
