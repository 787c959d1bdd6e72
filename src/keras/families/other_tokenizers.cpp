// KerasHub's tokenizers for any model, and those of families whose models attn does not run.
#include <array>

#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::other_tokenizers {
namespace {

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;

constexpr std::array kTokenizers = {
    KerasClass{.name = "BytePairTokenizer", .kind = TokenizerKind::byte_pairs, .words = tokenizers::kGpt2Words},
    KerasClass{.name = "WordPieceTokenizer", .kind = TokenizerKind::word_piece},
    KerasClass{.name = "SentencePieceTokenizer", .kind = TokenizerKind::sentence_piece},
    KerasClass{.name = "GptOssTokenizer", .kind = TokenizerKind::byte_pairs, .end = kTextToken, .splits_added = true},
    KerasClass{.name = "QwenMoeTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
    KerasClass{.name = "Qwen3MoeTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = "<|im_end|>",
               .pad = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
    KerasClass{.name = "PaliGemmaTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "<bos>",
               .end = "<eos>",
               .pad = kPadToken},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "gpt_oss", .keras_class = "GptOssTokenizer"},
    FolderTokenizer{.model_type = "qwen2_moe", .keras_class = "QwenMoeTokenizer"},
    FolderTokenizer{.model_type = "qwen3_moe", .keras_class = "Qwen3MoeTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "other_tokenizers", .tokenizer_classes = kTokenizers, .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::other_tokenizers
