// A value in a JSON file with its location for messages.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tokenizers {

class JsonNode {
 public:
  /// `value` must outlive the node. `file` is its printable name for messages.
  JsonNode(const nlohmann::json& value, std::string file) : value_(&value), file_(std::move(file)) {}

  /// Returns the file and the JSON pointer of the value: "tokenizer.json: /model/type".
  [[nodiscard]] std::string place() const;

  [[nodiscard]] const nlohmann::json& json() const noexcept { return *value_; }
  /// Returns whether the value is null or missing.
  [[nodiscard]] bool is_null() const noexcept { return value_->is_null(); }
  [[nodiscard]] bool is_object() const noexcept { return value_->is_object(); }
  [[nodiscard]] bool is_string() const noexcept { return value_->is_string(); }
  [[nodiscard]] bool is_array() const noexcept { return value_->is_array(); }
  [[nodiscard]] bool is_integer() const noexcept { return value_->is_number_integer(); }

  /// Returns the member of an object; a null node if it is missing, or if the value is not an object.
  [[nodiscard]] JsonNode operator[](std::string_view key) const;
  /// Returns the elements of an array; none for null. Throws Error (bad_input) for any other value.
  [[nodiscard]] std::vector<JsonNode> items() const;

  /// Returns the string. Throws Error (bad_input) for null, or a value of another type.
  [[nodiscard]] std::string text() const;
  /// Returns the string, or `otherwise` for null. Throws Error (bad_input) for a value of another type.
  [[nodiscard]] std::string text(std::string_view otherwise) const;
  /// Returns the bool, or `otherwise` for null. Throws Error (bad_input) for a value of another type.
  [[nodiscard]] bool flag(bool otherwise) const;
  /// Returns the integer. Throws Error (bad_input) for null, or a value of another type.
  [[nodiscard]] std::int64_t integer() const;
  /// Returns the integer, or `otherwise` for null. Throws Error (bad_input) for a value of another type.
  [[nodiscard]] std::int64_t integer(std::int64_t otherwise) const;

 private:
  const nlohmann::json* value_;
  std::string file_, pointer_;
};

}  // namespace attn::tokenizers
