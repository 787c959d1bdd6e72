#include "pattern.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

constexpr std::size_t kLongest = 4096;  // maximum bytes of an expression

/// Translates differences between Oniguruma and PCRE2. PCRE2 counts U+180E as a space, as Unicode 6.2 did; Oniguruma
/// does not, like current Unicode. In Oniguruma a set inside a character set, as in Bloom's "[^(\s|[.,!?])]", is part
/// of it.
std::string as_oniguruma(std::string_view expression) {
  constexpr std::string_view kInside = R"(\x09-\x0d\p{Z}\x{85})";
  std::string out;
  int sets = 0;  // depth of nested sets
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const bool in_class = sets > 0;
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char escaped = expression[++i];
      if (escaped == 's') {
        out += in_class ? std::string(kInside) : fmt::format("[{}]", kInside);
      } else if (escaped == 'S' && !in_class) {
        out += fmt::format("[^{}]", kInside);
      } else {
        out += c;
        out += escaped;
      }
      continue;
    }
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (c == '[' && next == ':' && in_class) {  // [:alpha:]
      const std::size_t end = std::min(expression.find(":]", i), expression.size() - 2);
      out += expression.substr(i, end + 2 - i);
      i = end + 1;
      continue;
    }
    const bool inner = in_class && (c == '[' ? next != '^' : sets > 1);
    if (c == '[') ++sets;
    if (c == ']') sets = std::max(0, sets - 1);
    if ((c != '[' && c != ']') || !inner) out += c;
  }
  return out;
}

/// Returns whether the expression has \K, which moves the start of a match, even to before the search position.
bool moves_start(std::string_view expression) {
  for (std::size_t i = 0; i + 1 < expression.size(); ++i)
    if (expression[i] == '\\' && expression[++i] == 'K') return true;
  return false;
}

}  // namespace

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.text_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string expression, std::string place) {
  Pattern pattern;
  pattern.text_ = std::move(expression);
  pattern.place_ = std::move(place);
  const auto wrong = [&](const std::string& why) {
    return bad_input("{}: '{}' is not a regular expression that can be used: {}", pattern.place_,
                     shortened(pattern.text_), why);
  };
  if (pattern.text_.size() > kLongest) throw wrong("it has over 4096 bytes");
  if (!is_utf8(pattern.text_)) throw wrong("it is not UTF-8");
  if (moves_start(pattern.text_)) throw wrong("\\K is not accepted");
  try {
    pattern.regex_.emplace(as_oniguruma(pattern.text_), text::Regex::Subject::valid_utf8);
  } catch (const text::RegexError& error) {
    throw wrong(error.what());
  }
  return pattern;
}

std::optional<Pattern::Match> Pattern::find(std::string_view subject, std::size_t from) const try {
  if (!regex_) {
    const std::size_t at = subject.find(text_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{at, at + text_.size()};
  }
  const std::optional<Match> found = regex_->find(subject, from);
  if (found && (found->first < from || found->first > found->second))
    throw bad_input("{}: '{}' matches backwards", place_, shortened(text_));
  return found;
} catch (const text::RegexError& error) {
  throw bad_input("{}: matching '{}' takes too long: {}", place_, shortened(text_), error.what());
}

}  // namespace attn::tokenizers
