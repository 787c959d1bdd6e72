// The text of a config, and the positions of its values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::keras {

/// A position in a text, counted from 1; columns are bytes.
struct Position {
  std::size_t line = 1, column = 1;
};

/// The text of a config, which is JSON of less than 4 GiB. The positions of values are indexed at the first request,
/// because a config with many problems needs many positions.
class SourceText {
 public:
  explicit SourceText(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] Position position(std::size_t offset) const;
  /// Returns the position of the value that a JSON pointer (RFC 6901) names, or of its key with `at_key`. Shortens the
  /// pointer to the part that exists in the text. The text must be valid JSON.
  [[nodiscard]] std::size_t find(std::string& pointer, bool at_key) const;

 private:
  /// A value; all values are in the order of the text, so the first value in a container follows the container. The
  /// next value on the same level is `count` entries further.
  struct Value {
    std::uint32_t at = 0, key_at = 0;
    std::uint32_t count = 1;  // this value and all nested values
  };

  void find_values() const;
  [[nodiscard]] std::size_t end_of_string(std::size_t at) const;
  [[nodiscard]] bool is_key(const Value& value, const std::string& key) const;
  /// Returns the index in values_ of the member or element `token` of a container; 0, which is no member, if there is
  /// none.
  [[nodiscard]] std::size_t member(std::size_t container, const std::string& token) const;

  std::string text_;
  mutable std::vector<Value> values_;
  mutable std::size_t told_ = 0;  // the offset whose position was requested last
  mutable Position told_position_;
};

}  // namespace attn::keras
