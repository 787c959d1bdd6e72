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

/// Upper bound of ids: the largest vocabularies have 262,144 tokens, and the table has an entry for every id.
inline constexpr std::int64_t kMostIds = std::int64_t{1} << 22;
/// Maximum bytes of a token: models search for the longest token at each position.
inline constexpr std::size_t kLongestToken = 1024;

class Vocabulary {
 public:
  /// `place` is the file for messages.
  explicit Vocabulary(std::string place) : place_(std::move(place)) {}

  enum class Repeats : std::uint8_t { refused, last_counts };

  /// Adds a token. Throws Error (bad_input) for a token longer than kLongestToken bytes, and for an id that is in use,
  /// negative, or not below kMostIds. Throws it also for a repeated token if `repeats` forbids it. If a repetition is
  /// allowed, both ids decode to the token, and it encodes to the last id.
  void add(std::string_view token, std::int64_t id, Repeats repeats = Repeats::refused);

  [[nodiscard]] std::optional<Id> find(std::string_view token) const noexcept;
  /// Empty for an unused id. The view is valid until the next `add`.
  [[nodiscard]] std::optional<std::string_view> token(Id id) const noexcept;

  /// Returns the number of tokens.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Returns the largest id + 1.
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
  /// Returns the slot of the token, or the empty slot for it.
  [[nodiscard]] std::size_t slot(std::string_view token) const noexcept;
  void grow();

  std::string place_;
  std::string text_;          // all tokens, concatenated
  std::vector<Part> tokens_;  // by id; `from` is kNone if the id is unused
  std::vector<Id> slots_;     // a hash table of ids with open addressing; -1 is empty
  std::int64_t size_ = 0;
};

}  // namespace attn::tokenizers
