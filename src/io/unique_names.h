// The rule for names in every container of named tensors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::io {

/// Throws Error (bad_input) if two arrays have the same name; `path` names the file to be written.
void check_unique_names(std::span<const NamedTensor> tensors, const std::string& path);
void check_unique_names(std::vector<std::string_view> names, const std::string& path);

}  // namespace attn::io
