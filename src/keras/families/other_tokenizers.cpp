// KerasHub's tokenizers for any model, and those of families whose models attn does not run.
#include <array>

#include "families/model_family.h"

namespace attn::keras::other_tokenizers {
namespace {

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;

constexpr std::array kTokenizers = {
    KerasClass{.name = "BytePairTokenizer", .kind = TokenizerKind::byte_pairs, .words = tokenizers::kGpt2Words},
    KerasClass{.name = "WordPieceTokenizer", .kind = TokenizerKind::word_piece},
    KerasClass{.name = "SentencePieceTokenizer", .kind = TokenizerKind::sentence_piece},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "other_tokenizers", .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::other_tokenizers
