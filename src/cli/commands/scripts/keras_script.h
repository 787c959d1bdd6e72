// The Python script that writes the outputs of Keras for a comparison.
#pragma once

#include <string_view>

namespace attn::cli {

/// Returns the complete script; its first lines describe its use.
[[nodiscard]] std::string_view keras_script();

}  // namespace attn::cli
