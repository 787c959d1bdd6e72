// A text that is being cut into pieces for a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "characters.h"
#include "pattern.h"
#include "rule_limit.h"

namespace attn::tokenizers {

/// What becomes of a part that matches; names and effect are those of Hugging Face's SplitDelimiterBehavior.
enum class Behavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Bytes [from, to) of a text. A long text may have as many parts as bytes, so they are small; RuleLimit keeps texts
/// below 4 GiB.
struct Part {
  Part(std::size_t begin, std::size_t end, bool matches)
      : from(static_cast<std::uint32_t>(begin)), to(static_cast<std::uint32_t>(end)), is_match(matches) {}

  std::uint32_t from, to;
  bool is_match;
};

/// All of `text`, in parts that the pattern matches and parts between.
[[nodiscard]] std::vector<Part> parts_by(const Pattern& pattern, std::string_view text, const RuleLimit& limit);

/// The same where each code point for which `is` holds is a match of its own.
template <typename Is>
[[nodiscard]] std::vector<Part> parts_by(std::string_view text, Is&& is) {
  std::vector<Part> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const bool matches = is(next_point(text, at));
    if (!matches && !parts.empty() && !parts.back().is_match) {
      parts.back().to = static_cast<std::uint32_t>(at);
    } else {
      parts.emplace_back(from, at, matches);
    }
  }
  return parts;
}

/// What `behavior` makes of such parts. None of them is empty.
[[nodiscard]] std::vector<Part> joined(std::vector<Part> parts, Behavior behavior);

struct Piece {
  std::uint32_t from = 0, to = 0;  ///< bytes [from, to) of the text
  bool begins_text = false;        ///< nothing of the whole text stands before it
};

/// The text between two special tokens, and the pieces of it that are kept, in their order.
class Pieces {
 public:
  /// `limit` outlives it.
  Pieces(std::string text, bool begins_text, const RuleLimit& limit);

  [[nodiscard]] const std::vector<Piece>& all() const noexcept { return pieces_; }
  /// Bytes of all of the text.
  [[nodiscard]] std::size_t bytes() const noexcept { return text_.size(); }
  /// How long it may become.
  [[nodiscard]] const RuleLimit& limit() const noexcept { return limit_; }
  [[nodiscard]] std::string_view text(const Piece& piece) const noexcept {
    return std::string_view(text_).substr(piece.from, piece.to - piece.from);
  }

  /// Cuts each piece into what `cut(text of the piece)` gives: parts of it, in their order.
  template <typename Cut>
  void split(Cut&& cut) {
    std::vector<Piece> pieces;
    for (const Piece& piece : pieces_)
      for (const Part& part : cut(text(piece)))
        pieces.push_back({piece.from + part.from, piece.from + part.to, piece.begins_text && part.from == 0});
    pieces_ = std::move(pieces);
  }

  /// Puts `change(piece, text of the piece)` in the place of each piece's text.
  template <typename Change>
  void replace(Change&& change) {
    std::string text;
    text.reserve(text_.size());
    for (Piece& piece : pieces_) {
      const auto from = static_cast<std::uint32_t>(text.size());
      text += change(piece, this->text(piece));
      limit_.check(text.size());
      piece.from = from;
      piece.to = static_cast<std::uint32_t>(text.size());
    }
    text_ = std::move(text);
  }

 private:
  const RuleLimit& limit_;
  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace attn::tokenizers
