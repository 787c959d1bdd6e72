// SentencePiece's compiled table of characters and what they become: "precompiled_charsmap".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rule_limit.h"

namespace attn::tokenizers {

/// A double array (darts-clone) over the bytes of what is replaced, and the texts that replace it, each ended by a null
/// character.
class CharMap {
 public:
  /// Reads the table's bytes. Throws Error (bad_input) that begins with `place` for a table that is cut short, that
  /// leads out of itself, or whose texts are no UTF-8: after that no lookup does.
  CharMap(std::string_view bytes, const std::string& place);

  /// What replaces the shortest entry that `text` begins with.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view text) const noexcept;

  /// Is there an entry for letters of ASCII alone, which are no spaces?
  [[nodiscard]] bool changes_ascii() const;

  /// `text` with every grapheme of under 6 bytes, or else every code point, replaced where the table has an entry for
  /// its beginning: so Hugging Face's Precompiled does it.
  [[nodiscard]] std::string normalized(std::string_view text, const RuleLimit& limit) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace attn::tokenizers
