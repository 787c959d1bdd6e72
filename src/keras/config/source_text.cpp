#include "config/source_text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace attn::keras {
namespace {

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      out += token[++i] == '1' ? '/' : '~';
    } else {
      out += token[i];
    }
  }
  return out;
}

/// Returns the array index of a JSON pointer's token, if it is one.
std::optional<std::size_t> index_of(const std::string& token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool whole = error == std::errc() && end == token.data() + token.size();
  if (!whole || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  return index;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Position SourceText::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  // Counts lines from the previous position, because problems are usually reported in the order of the text.
  if (offset < told_) told_ = 0, told_position_ = {};
  const std::string_view passed = std::string_view(text_).substr(told_, offset - told_);
  told_position_.line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
  const std::size_t line_end = passed.rfind('\n');
  told_position_.column =
      line_end == std::string_view::npos ? told_position_.column + passed.size() : passed.size() - line_end;
  told_ = offset;
  return told_position_;
}

std::size_t SourceText::end_of_string(std::size_t at) const {
  ++at;
  while (at < text_.size() && text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text_.size());
}

void SourceText::find_values() const {
  std::vector<std::size_t> open;  // enclosing containers
  std::size_t key_at = std::string::npos;
  const auto add = [&](std::size_t at) {
    Value value;
    value.at = static_cast<std::uint32_t>(at);
    value.key_at = static_cast<std::uint32_t>(key_at == std::string::npos ? at : key_at);
    key_at = std::string::npos;
    values_.push_back(value);
  };
  for (std::size_t at = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; at < text_.size();) {
    switch (text_[at]) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
      case ',':
      case ':':
        ++at;
        break;
      case '{':
      case '[':
        open.push_back(values_.size());
        add(at++);
        break;
      case '}':
      case ']':
        values_[open.back()].count = static_cast<std::uint32_t>(values_.size() - open.back());
        open.pop_back();
        ++at;
        break;
      case '"':
        if (key_at == std::string::npos && !open.empty() && text_[values_[open.back()].at] == '{') {
          key_at = at;
        } else {
          add(at);
        }
        at = end_of_string(at);
        break;
      default:
        add(at);
        at = std::min(text_.find_first_of(",]} \n\r\t", at), text_.size());
    }
  }
}

bool SourceText::is_key(const Value& value, const std::string& key) const {
  const std::size_t end = end_of_string(value.key_at);
  const std::string_view quoted = std::string_view(text_).substr(value.key_at, end - value.key_at);
  if (quoted.find('\\') == std::string_view::npos) return quoted.substr(1, quoted.size() - 2) == key;
  return nlohmann::json::parse(quoted) == key;
}

std::size_t SourceText::member(std::size_t container, const std::string& token) const {
  const bool object = text_[values_[container].at] == '{';
  const std::optional<std::size_t> wanted = index_of(token);
  const std::size_t end = container + values_[container].count;
  std::size_t index = 0;
  for (std::size_t value = container + 1; value < end; value += values_[value].count, ++index)
    if (object ? is_key(values_[value], token) : index == wanted) return value;
  return 0;
}

std::size_t SourceText::find(std::string& pointer, bool at_key) const {
  if (values_.empty()) find_values();
  std::size_t value = 0;
  std::size_t begin = 1;
  while (begin <= pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::size_t next = member(value, unescaped(std::string_view(pointer).substr(begin, end - begin)));
    if (next == 0) {
      pointer.resize(begin - 1);
      break;
    }
    value = next;
    begin = end + 1;
  }
  return at_key ? values_[value].key_at : values_[value].at;
}

}  // namespace attn::keras
