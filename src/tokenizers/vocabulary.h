// Tokens and their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Ids from this on are refused: the largest vocabularies have 262,144 tokens, and a table has a place for every id.
inline constexpr std::int64_t kMostIds = std::int64_t{1} << 22;
/// The most bytes of a token: models look for the longest token at each place of a text.
inline constexpr std::size_t kLongestToken = 1024;

class Vocabulary {
 public:
  /// `place` is the file for messages.
  explicit Vocabulary(std::string place) : place_(std::move(place)) {}

  enum class Repeats : std::uint8_t { refused, last_counts };

  /// Throws Error (bad_input) for a token of over kLongestToken bytes, an id that another token has, one that is
  /// negative or not below kMostIds, and, where `repeats` says so, a token that has another id already; otherwise both
  /// ids are that token, and it has the last.
  void add(std::string_view token, std::int64_t id, Repeats repeats = Repeats::refused);

  [[nodiscard]] std::optional<Id> find(std::string_view token) const noexcept;
  /// Nothing for an id that no token has. The view lives until the next `add`.
  [[nodiscard]] std::optional<std::string_view> token(Id id) const noexcept;

  /// The number of tokens.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// The largest id, and one more.
  [[nodiscard]] Id end() const noexcept { return static_cast<Id>(tokens_.size()); }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }

 private:
  struct Part {
    std::uint32_t from = 0;
    std::uint32_t size = 0;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] std::string_view text(Part part) const noexcept {
    return std::string_view(text_).substr(part.from, part.size);
  }
  /// The slot that holds the token, or the empty one where it would stand.
  [[nodiscard]] std::size_t slot(std::string_view token) const noexcept;
  void grow();

  std::string place_;
  std::string text_;          // all tokens, one after another
  std::vector<Part> tokens_;  // by id; from is kNone where no token has it
  std::vector<Id> slots_;     // a hash table of ids, open addressing; -1 is empty
  std::int64_t size_ = 0;
};

}  // namespace attn::tokenizers
