// The Python that writes what Keras gives, for attn to compare with.
#pragma once

#include <string_view>

namespace attn::cli {

/// A whole script; it says itself how it is used.
[[nodiscard]] std::string_view keras_script();

}  // namespace attn::cli
