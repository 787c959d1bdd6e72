// Adds the key that configs of KerasHub's Llama lack.
#pragma once

#include <optional>

#include "config/json.h"

namespace attn::keras {

/// LlamaBackbone.get_config omits tie_word_embeddings, and KerasHub then assumes a separate head. Returns the config
/// with the key added to backbones that lack it; empty if none does.
[[nodiscard]] std::optional<Translation> with_tied_embeddings(const Ref& root);

}  // namespace attn::keras
