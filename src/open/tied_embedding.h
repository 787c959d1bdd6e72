// Detects tied embeddings, which the config of a Llama omits: LlamaBackbone.get_config leaves tie_word_embeddings out.
#pragma once

#include <optional>
#include <string_view>

#include "attn/weights/store.h"

namespace attn::open {

/// Whether the config is of a kind that omits it. `text` is the config's text.
[[nodiscard]] bool may_hide_tied_embedding(std::string_view text);

/// Whether the token embedding is also the output head, judged by the weights in the file. Nothing if it has neither.
[[nodiscard]] std::optional<bool> tied_embedding_in(const weights::Store& store);

}  // namespace attn::open
