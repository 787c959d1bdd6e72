// The text of configs/encoder.json, which is embedded (the build generates builtin_encoder.cpp).
#pragma once

namespace attn::keras {

extern const char* const kBuiltinEncoder;

}  // namespace attn::keras
