// What the config of a Llama does not say.
#pragma once

#include <optional>

#include "config/json.h"

namespace attn::keras {

/// LlamaBackbone.get_config leaves tie_word_embeddings out, and KerasHub then takes the head for one of its own. The
/// same config with the key where a backbone lacks it; nothing where none does.
[[nodiscard]] std::optional<Translation> with_tied_embeddings(const Ref& root);

}  // namespace attn::keras
