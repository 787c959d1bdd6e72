// Classes that attn rejects because of their Python code, and classes that it lacks.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

/// Returns whether the class is rejected because its objects contain Python code, such as Lambda.
[[nodiscard]] bool carries_code(const ClassInfo& info);

/// Returns why attn does not have KerasHub's family with a class of this name: "it is a convolutional network, …"; ""
/// for other names.
[[nodiscard]] std::string_view missing_family(std::string_view class_name);

}  // namespace attn::keras
