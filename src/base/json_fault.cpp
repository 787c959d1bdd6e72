#include "attn/base/json_fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"

namespace attn {

std::string json_fault(std::string_view text, std::size_t offset) {
  constexpr std::string_view kBlanks = " \t\r\n";
  constexpr std::size_t kShown = 20;
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "an empty text";
  const std::size_t begin = std::min(offset, text.size() - 1);
  if (std::string_view("}]").find(text[begin]) != std::string_view::npos && begin > 0) {
    const std::size_t before = text.find_last_not_of(kBlanks, begin - 1);
    if (before != std::string_view::npos && text[before] == ',') return fmt::format("a comma before '{}'", text[begin]);
  }
  constexpr std::string_view kBegins = "{[\"-0123456789";  // first characters of JSON values; the words follow
  const std::string_view rest = text.substr(first);
  const bool is_value = kBegins.find(rest.front()) != std::string_view::npos || rest.starts_with("true") ||
                        rest.starts_with("false") || rest.starts_with("null");
  if (is_value) return "";
  return fmt::format("it begins with '{}'", shortened(rest.substr(0, rest.find_first_of("\r\n")), kShown));
}

}  // namespace attn
