// Adds the key tie_word_embeddings, which configs of KerasHub's Llama lack.
#pragma once

#include <optional>

#include "config/json.h"

namespace attn::keras {

/// Returns the config with tie_word_embeddings added to the backbones that lack it; empty if none lacks it.
/// LlamaBackbone.get_config omits the key, and KerasHub then assumes a separate head.
[[nodiscard]] std::optional<Translation> with_tied_embeddings(const Ref& root);

}  // namespace attn::keras
