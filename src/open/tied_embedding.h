// Detects tied embeddings, which the config of a Llama omits: LlamaBackbone.get_config leaves tie_word_embeddings out.
#pragma once

#include <optional>
#include <string_view>

#include "attn/weights/store.h"

namespace attn::open {

/// Returns whether the text is a config of a model class that omits tie_word_embeddings.
[[nodiscard]] bool may_hide_tied_embedding(std::string_view text);

/// Returns whether the token embedding is also the output head, judged by the weights in the file. Returns empty if the
/// file has neither.
[[nodiscard]] std::optional<bool> tied_embedding_in(const weights::Store& store);

}  // namespace attn::open
