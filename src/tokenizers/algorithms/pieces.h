// A text during pre-tokenization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pattern.h"
#include "pipeline/rule_limit.h"
#include "text/characters.h"

namespace attn::tokenizers {

/// The treatment of a matching part; names and effects are those of Hugging Face's SplitDelimiterBehavior.
enum class Behavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Bytes [from, to) of a text. A long text may have as many parts as bytes, so they are small; RuleLimit limits texts
/// to less than 4 GiB.
struct Part {
  Part(std::size_t begin, std::size_t end, bool matches)
      : from(static_cast<std::uint32_t>(begin)), to(static_cast<std::uint32_t>(end)), is_match(matches) {}

  std::uint32_t from, to;
  bool is_match;
};

/// Splits all of `text` into parts that match the pattern and parts between them.
[[nodiscard]] std::vector<Part> parts_by(const Pattern& pattern, std::string_view text, const RuleLimit& limit);

/// Splits all of `text` into parts: each code point for which `is` returns true, and the parts between them.
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

/// Applies `behavior` to the result of parts_by. No part of the result is empty.
[[nodiscard]] std::vector<Part> joined(std::vector<Part> parts, Behavior behavior);

struct Piece {
  std::uint32_t from = 0, to = 0;  ///< bytes [from, to) of the text
  bool begins_text = false;        ///< whether it begins the whole text
};

/// The text between two special tokens, and its remaining pieces in order.
class Pieces {
 public:
  /// `limit` must outlive this object.
  Pieces(std::string text, bool begins_text, const RuleLimit& limit);

  [[nodiscard]] const std::vector<Piece>& all() const noexcept { return pieces_; }
  /// Returns the size of the whole text in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return text_.size(); }
  /// Returns the limit of the text's size.
  [[nodiscard]] const RuleLimit& limit() const noexcept { return limit_; }
  [[nodiscard]] std::string_view text(const Piece& piece) const noexcept {
    return std::string_view(text_).substr(piece.from, piece.to - piece.from);
  }

  /// Splits each piece into the result of `cut(text of the piece)`: ranges of it, in order.
  template <typename Cut>
  void split(Cut&& cut) {
    std::vector<Piece> pieces;
    for (const Piece& piece : pieces_)
      for (const Part& part : cut(text(piece)))
        pieces.push_back({piece.from + part.from, piece.from + part.to, piece.begins_text && part.from == 0});
    pieces_ = std::move(pieces);
  }

  /// Replaces the text of each piece by `change(piece, text of the piece)`.
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
