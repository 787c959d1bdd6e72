// KerasHub's transformer blocks with another class of attention, for the families that have one.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

/// Make a TransformerEncoder or a TransformerDecoder whose attention layers have the class `attention`, a literal.
[[nodiscard]] LayerPtr make_transformer_encoder(const char* attention);
[[nodiscard]] LayerPtr make_transformer_decoder(const char* attention);

}  // namespace attn::keras
