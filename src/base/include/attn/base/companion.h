// Files that belong to attn and lie where it lies.
#pragma once

#include <string>

namespace attn {

/// The path of a program or plugin of attn's own: beside the program or library that this code is part of, in the
/// folder above (where tests lie in one of their own), or where it was installed. Empty where it is nowhere.
[[nodiscard]] std::string companion(const std::string& name);

}  // namespace attn
