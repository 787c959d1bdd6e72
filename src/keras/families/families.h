// The table of model families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "families/model_family.h"

namespace attn::keras {

[[nodiscard]] std::span<const ModelFamily* const> model_families();

/// Returns the family of a backbone or a task; null for another class.
[[nodiscard]] const ModelFamily* family_of_model(std::string_view class_name);

}  // namespace attn::keras
