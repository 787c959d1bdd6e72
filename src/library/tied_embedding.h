// What the config of a Llama does not say: LlamaBackbone.get_config leaves tie_word_embeddings out.
#pragma once

#include <optional>
#include <string_view>

#include "attn/weights/store.h"

namespace attn::library {

/// Could the config be one that keeps silent about it? `text` is that of the config.
[[nodiscard]] bool may_hide_tied_embedding(std::string_view text);

/// Is the token embedding the head too, by what the file has of both? Nothing where it has neither.
[[nodiscard]] std::optional<bool> tied_embedding_in(const weights::Store& store);

}  // namespace attn::library
