// The text of a config, and where its values stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::keras {

/// A place in a text, both from 1; columns count bytes.
struct Position {
  std::size_t line = 1, column = 1;
};

/// JSON of less than 4 GiB. Values are looked for once, when the first place is asked for: a config with many problems
/// has many places to tell.
class SourceText {
 public:
  explicit SourceText(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] Position position(std::size_t offset) const;
  /// Where the value stands that a JSON pointer (RFC 6901) names, or its key where `at_key`. Cuts the pointer to what
  /// the text holds of it. The text must be known to parse.
  [[nodiscard]] std::size_t find(std::string& pointer, bool at_key) const;

 private:
  /// In the order of the text, so that a container's first value follows it. The next one on the same level is `count`
  /// values on.
  struct Value {
    std::uint32_t at = 0, key_at = 0;
    std::uint32_t count = 1;  // itself and all in it
  };

  void find_values() const;
  [[nodiscard]] std::size_t end_of_string(std::size_t at) const;
  [[nodiscard]] bool is_key(const Value& value, const std::string& key) const;
  /// The member or element `token` of a container, or 0, which is nobody's.
  [[nodiscard]] std::size_t member(std::size_t container, const std::string& token) const;

  std::string text_;
  mutable std::vector<Value> values_;
  mutable std::size_t told_ = 0;  // the offset whose position was asked for last
  mutable Position told_position_;
};

}  // namespace attn::keras
