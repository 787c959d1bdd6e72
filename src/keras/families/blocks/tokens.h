// Special tokens, and tokenizer classes, that several families have.
#pragma once

#include <array>
#include <string_view>

#include "attn/tokenizers/tables.h"

namespace attn::keras {

inline constexpr std::string_view kTextToken = "<|endoftext|>", kStartToken = "<s>", kEndToken = "</s>",
                                  kPadToken = "<pad>";
inline constexpr std::array<std::string_view, 1> kMaskToken{"[MASK]"};

/// Returns the record of a tokenizer with BERT's special tokens.
constexpr tokenizers::KerasClass word_piece_record(std::string_view name) {
  return {.name = name,
          .kind = tokenizers::TokenizerKind::word_piece,
          .start = "[CLS]",
          .end = "[SEP]",
          .pad = "[PAD]",
          .more = kMaskToken};
}

inline constexpr std::array<std::string_view, 1> kQwenTurn{"<|im_start|>"};
inline constexpr std::array<std::string_view, 4> kQwenVision{"<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
                                                             "<|video_pad|>"};

/// Returns the record of a tokenizer of Qwen 3.5.
constexpr tokenizers::KerasClass qwen3_5_tokenizer(std::string_view name) {
  return {.name = name,
          .kind = tokenizers::TokenizerKind::byte_pairs,
          .end = "<|im_end|>",
          .pad = kTextToken,
          .more = kQwenTurn,
          .words = tokenizers::kQwenWords,
          .nfc = true,
          .vision = kQwenVision};
}

}  // namespace attn::keras
