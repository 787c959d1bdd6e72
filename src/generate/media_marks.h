// The marks of images and sounds in prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/generate/decoder.h"
#include "attn/generate/media.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

/// Replaces each mark in the next prompt by the placeholders of its item.
[[nodiscard]] std::string with_placeholders(std::string_view text, Media& media);

/// Encodes the next prompt, whose marks are also placeholders, in parts between special tokens.
[[nodiscard]] std::vector<Token> encoded_in_parts(std::string_view text, Media& media,
                                                  const tokenizers::Tokenizer& tokenizer,
                                                  const tokenizers::EncodeOptions& options);

/// Finds the items in the tokens of prompts. `tokenizer` made the tokens; null if they were given as ids. Throws Error
/// (usage).
[[nodiscard]] std::vector<MediaPlace> places_of(const Media& media, const std::vector<std::vector<Token>>& prompts,
                                                const tokenizers::Tokenizer* tokenizer);

}  // namespace attn::generate
