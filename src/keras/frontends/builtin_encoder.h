// configs/encoder.json, compiled in (the build writes builtin_encoder.cpp).
#pragma once

namespace attn::keras {

extern const char* const kBuiltinEncoder;

}  // namespace attn::keras
