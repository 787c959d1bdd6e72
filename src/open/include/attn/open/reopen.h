// A file of a model is opened again before it takes its name.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "attn/graph/weight.h"

namespace attn::open {

/// For weights::SavedModel::check: throws Error (bad_input) where attn would not open the file at `path` again, or
/// misses one of its weights. A .keras archive is read with its config, other files as weights of `specs`.
[[nodiscard]] std::function<void(const std::string& written)> reopens(const std::string& path,
                                                                      std::span<const graph::WeightSpec> specs);

/// The same of a folder that was written as a whole model, at `written`.
void check_reopens(const std::string& path, const std::string& written);

}  // namespace attn::open
