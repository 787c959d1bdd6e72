// Reads a written model file back before it is renamed.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "attn/graph/weight.h"

namespace attn::open {

/// For weights::SavedModel::check: throws Error (bad_input) if attn would not open the file at `path` again, or if a
/// weight is missing. A .keras archive is read with its config, other files as weights of `specs`.
[[nodiscard]] std::function<void(const std::string& written)> reopens(const std::string& path,
                                                                      std::span<const graph::WeightSpec> specs);

/// Throws Error (bad_input) if attn would not open the whole model in the folder `written` again, or if a weight is
/// missing. `path` is the folder's name in messages.
void check_reopens(const std::string& path, const std::string& written);

}  // namespace attn::open
