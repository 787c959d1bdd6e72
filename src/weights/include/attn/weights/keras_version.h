// The Keras version whose file formats are written.
#pragma once

namespace attn::weights {

inline constexpr const char* kKerasVersion = "3.15.1";

}  // namespace attn::weights
