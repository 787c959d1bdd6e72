// What tokenizer files do to tokens to make text of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pattern.h"
#include "rule_limit.h"

namespace attn::tokenizers {

/// Tokens to the parts of a text, which may not grow beyond the limit. Each is pure, and may be shared by threads.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string> tokens, const RuleLimit& limit)>;
/// One after another; what the last one gives is put together.
using Decoders = std::vector<Decoder>;

/// Letters to the bytes they stand for (byte_level.h), in one part; a token with another letter is taken as it is.
[[nodiscard]] Decoder make_byte_level_decoder();
/// A space before each token that does not begin with `prefix`, which goes. `cleanup` takes out spaces before points
/// and in English contractions.
[[nodiscard]] Decoder make_word_piece_decoder(std::string prefix, bool cleanup);
/// Spaces for `replacement`; where `drop_first`, those of the first token go.
[[nodiscard]] Decoder make_metaspace_decoder(std::string replacement, bool drop_first);
/// The bytes of "<0xE2>" …: runs of them that are no UTF-8 become U+FFFD each.
[[nodiscard]] Decoder make_byte_fallback_decoder();
[[nodiscard]] Decoder make_fuse_decoder();
/// Takes up to `start` times `content` from the front of each part, and up to `stop` times from its back.
[[nodiscard]] Decoder make_strip_decoder(std::string content, std::size_t start, std::size_t stop);
[[nodiscard]] Decoder make_replace_decoder(Pattern pattern, std::string content);

/// The byte of "<0xE2>", or -1.
[[nodiscard]] int byte_of_token(std::string_view token) noexcept;

}  // namespace attn::tokenizers
