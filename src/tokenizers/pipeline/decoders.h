// The decoders of tokenizer files: they convert tokens to text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pattern.h"
#include "rule_limit.h"

namespace attn::tokenizers {

/// Converts tokens to the parts of a text, whose size must stay below the limit. A decoder is pure, and threads may
/// share it.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string> tokens, const RuleLimit& limit)>;
/// Decoders that are applied in order; the parts that the last one returns are concatenated.
using Decoders = std::vector<Decoder>;

/// Converts letters to bytes (byte_level.h), in one part. A token with any other letter is kept as it is.
[[nodiscard]] Decoder make_byte_level_decoder();
/// Adds a space before each token after the first, or removes its `prefix` instead. `cleanup` removes spaces before
/// punctuation and in English contractions.
[[nodiscard]] Decoder make_word_piece_decoder(std::string prefix, bool cleanup);
/// Converts `replacement` to spaces; with `drop_first`, removes it from the first token.
[[nodiscard]] Decoder make_metaspace_decoder(std::string replacement, bool drop_first);
/// Converts "<0xE2>" … to bytes; in a run that is not UTF-8, each byte becomes U+FFFD.
[[nodiscard]] Decoder make_byte_fallback_decoder();
[[nodiscard]] Decoder make_fuse_decoder();
/// Removes `content` from the front of each part up to `start` times, and from its end up to `stop` times.
[[nodiscard]] Decoder make_strip_decoder(std::string content, std::size_t start, std::size_t stop);
[[nodiscard]] Decoder make_replace_decoder(Pattern pattern, std::string content);

/// Returns the byte of a token such as "<0xE2>", or -1.
[[nodiscard]] int byte_of_token(std::string_view token) noexcept;

}  // namespace attn::tokenizers
