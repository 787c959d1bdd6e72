#include "tied_embedding.h"

namespace attn::open {

bool may_hide_tied_embedding(std::string_view text) {
  constexpr std::string_view kKey = "tie_word_embeddings";
  const bool llama = text.find("\"LlamaBackbone\"") != std::string_view::npos ||
                     text.find("\"Llama3Backbone\"") != std::string_view::npos;
  return llama && text.find(kKey) == std::string_view::npos;
}

std::optional<bool> tied_embedding_in(const weights::Store& store) {
  bool rows = false, head = false;
  for (const NamedTensor& weight : store.weights) {
    rows = rows || weight.name.ends_with("layers/reversible_embedding/vars/0");
    head = head || weight.name.ends_with("layers/reversible_embedding/vars/1");
  }
  if (!rows) return std::nullopt;
  return !head;
}

}  // namespace attn::open
