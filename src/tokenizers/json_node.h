// A place in a JSON file, for messages that name it.
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
  /// `value` outlives the node. `file` is its name for messages, printable.
  JsonNode(const nlohmann::json& value, std::string file) : value_(&value), file_(std::move(file)) {}

  /// "tokenizer.json: /model/type"
  [[nodiscard]] std::string place() const;

  [[nodiscard]] const nlohmann::json& json() const noexcept { return *value_; }
  /// Is it null, or not there?
  [[nodiscard]] bool is_null() const noexcept { return value_->is_null(); }
  [[nodiscard]] bool is_object() const noexcept { return value_->is_object(); }
  [[nodiscard]] bool is_string() const noexcept { return value_->is_string(); }
  [[nodiscard]] bool is_array() const noexcept { return value_->is_array(); }
  [[nodiscard]] bool is_integer() const noexcept { return value_->is_number_integer(); }

  /// The member of an object; a null where there is none, and in what is no object.
  [[nodiscard]] JsonNode operator[](std::string_view key) const;
  /// The members of an array. Throws Error (bad_input) for anything else but null, which has none.
  [[nodiscard]] std::vector<JsonNode> items() const;

  /// Each throws Error (bad_input) where the value is of another kind; where it is null, without a default.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string text(std::string_view otherwise) const;
  [[nodiscard]] bool flag(bool otherwise) const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::int64_t integer(std::int64_t otherwise) const;

 private:
  const nlohmann::json* value_;
  std::string file_, pointer_;
};

}  // namespace attn::tokenizers
