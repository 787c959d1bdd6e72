#include "keras_tokenizers.h"

namespace attn::tokenizers {

const KerasClass* find_keras_class(const TokenizerTables& tables, std::string_view name) noexcept {
  for (const KerasClass& row : tables.classes)
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string> asset_names(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::byte_pairs:
    case TokenizerKind::clip_pairs:
      return {"vocabulary.json", "merges.txt"};
    case TokenizerKind::word_piece:
    case TokenizerKind::longest_match:
    case TokenizerKind::characters:
      return {"vocabulary.txt"};
    case TokenizerKind::sentence_piece:
      break;
  }
  return {"vocabulary.spm"};
}

std::vector<std::string_view> keras_class_names(const TokenizerTables& tables) {
  std::vector<std::string_view> names;
  for (const KerasClass& row : tables.classes) names.push_back(row.name);
  return names;
}

}  // namespace attn::tokenizers
