// Prompts of a model with an encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/decoder.h"
#include "attn/keras/task_info.h"
#include "attn/open/listener.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

/// The texts or ids that the encoder reads, and the start of the decoder's sequences: one for each or one for all.
struct EncoderWords {
  std::vector<std::string> texts, decoder_texts;
  std::vector<std::vector<Token>> ids, decoder_ids;  ///< token ids, for a model without a tokenizer
};

/// The tokens of both sides.
struct EncoderPrompts {
  std::vector<std::vector<Token>> encoder, decoder;
  std::vector<std::string> begun;  ///< the decoder's texts, one for each prompt; empty if ids were given
};

/// The maximum number of tokens of a text, including special tokens.
struct EncoderLengths {
  std::int64_t encoder = 0, decoder = 0;
};

/// Packs texts as Seq2SeqLMPreprocessor.generate_preprocess does; without a tokenizer takes the ids. Warns of a text
/// that is too long for the encoder. Throws Error (usage) unless there are as many decoder prompts as prompts, or one
/// for all.
[[nodiscard]] EncoderPrompts pack_prompts(const EncoderWords& words, const std::optional<keras::TaskInfo>& task,
                                          const tokenizers::Tokenizer* tokenizer, const tokenizers::EncodeOptions& how,
                                          const EncoderLengths& lengths, const open::Listener& listener);

}  // namespace attn::generate
