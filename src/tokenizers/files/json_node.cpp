#include "json_node.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

const nlohmann::json kNull;

Error wrong(const JsonNode& node, const char* kind) { return bad_input("{}: expected {}", node.place(), kind); }

}  // namespace

std::string JsonNode::place() const { return pointer_.empty() ? file_ : fmt::format("{}: {}", file_, pointer_); }

JsonNode JsonNode::operator[](std::string_view key) const {
  JsonNode member(kNull, file_);
  member.pointer_ = fmt::format("{}/{}", pointer_, printable(key));
  if (!value_->is_object()) return member;
  const auto found = value_->find(std::string(key));
  if (found != value_->end()) member.value_ = &*found;
  return member;
}

JsonItems JsonNode::items() const {
  if (!value_->is_null() && !value_->is_array()) throw wrong(*this, "an array");
  return JsonItems(*this);
}

JsonNode JsonItems::operator[](std::size_t at) const {
  JsonNode item(array_.json()[at], array_.file_);
  item.pointer_ = fmt::format("{}/{}", array_.pointer_, at);
  return item;
}

std::string JsonNode::text() const {
  if (!value_->is_string()) throw wrong(*this, "a text");
  return value_->get<std::string>();
}
std::string JsonNode::text(std::string_view otherwise) const { return is_null() ? std::string(otherwise) : text(); }

bool JsonNode::flag(bool otherwise) const {
  if (is_null()) return otherwise;
  if (!value_->is_boolean()) throw wrong(*this, "true or false");
  return value_->get<bool>();
}

std::int64_t JsonNode::integer() const {
  const bool is_large = value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX;
  if (!value_->is_number_integer() || is_large) throw wrong(*this, "an integer");
  return value_->get<std::int64_t>();
}
std::int64_t JsonNode::integer(std::int64_t otherwise) const { return is_null() ? otherwise : integer(); }

}  // namespace attn::tokenizers
