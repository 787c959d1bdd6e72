// SentencePiece's compiled table of character replacements: "precompiled_charsmap".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rule_limit.h"

namespace attn::tokenizers {

/// A double-array trie (darts-clone) over the replaced byte sequences, and the null-terminated replacement texts.
class CharMap {
 public:
  /// Parses the table. Throws Error (bad_input), whose message begins with `place`, if the table is truncated, has
  /// offsets outside itself, or texts that are not UTF-8. Look-ups need no checks after that.
  CharMap(std::string_view bytes, const std::string& place);

  /// Returns the replacement of the shortest entry that is a prefix of `text`.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view text) const noexcept;

  /// Returns whether there is an entry that consists only of ASCII characters other than spaces.
  [[nodiscard]] bool changes_ascii() const;

  /// Replaces every grapheme of less than 6 bytes, or otherwise every code point, if the table has an entry for its
  /// prefix. Matches Hugging Face's Precompiled.
  [[nodiscard]] std::string normalized(std::string_view text, const RuleLimit& limit) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace attn::tokenizers
