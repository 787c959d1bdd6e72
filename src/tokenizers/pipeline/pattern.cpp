#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

constexpr std::size_t kLongest = 4096;                // maximum bytes of an expression
constexpr std::size_t kMostSteps = 1'000'000;         // maximum steps of a match; two for each byte of a long text
constexpr std::uint32_t kMostBacktracking = 1 << 16;  // maximum KiB of memory for backtracking in one match

template <class T>
std::unique_ptr<T, void (*)(T*)> owned(T* made, void (*free)(T*)) {
  if (made == nullptr) throw std::bad_alloc();
  return {made, free};
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return {buffer.begin(), std::find(buffer.begin(), buffer.end(), 0)};
}

PCRE2_SPTR pcre_bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

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

void Pattern::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

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
  const std::string source = as_oniguruma(pattern.text_);
  int code = 0;
  std::size_t offset = 0;
  pattern.code_.reset(pcre2_compile(pcre_bytes(source), source.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C, &code,
                                    &offset, nullptr));
  if (pattern.code_ == nullptr) throw wrong(message_of(code));
  // If memory cannot be made executable, the expression is interpreted.
  static_cast<void>(pcre2_jit_compile(pattern.code_.get(), PCRE2_JIT_COMPLETE));
  return pattern;
}

std::optional<Pattern::Found> Pattern::find(std::string_view text, std::size_t from) const {
  if (code_ == nullptr) {
    const std::size_t at = text.find(text_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Found{at, at + text_.size()};
  }
  thread_local const auto kFound = owned(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  thread_local const auto kContext = owned(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  // For patterns where words end with spaces, a run of a million spaces needs that many backtracking steps.
  const std::size_t steps = std::clamp<std::size_t>(2 * text.size(), kMostSteps, UINT32_MAX);
  pcre2_set_match_limit(kContext.get(), static_cast<std::uint32_t>(steps));
  pcre2_set_heap_limit(kContext.get(), kMostBacktracking);
  const int code =
      pcre2_match(code_.get(), pcre_bytes(text), text.size(), from, PCRE2_NO_UTF_CHECK, kFound.get(), kContext.get());
  if (code == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (code < 0) throw bad_input("{}: matching '{}' takes too long: {}", place_, shortened(text_), message_of(code));
  const std::size_t* const ends = pcre2_get_ovector_pointer(kFound.get());
  if (ends[0] < from || ends[0] > ends[1]) throw bad_input("{}: '{}' matches backwards", place_, shortened(text_));
  return Found{ends[0], ends[1]};
}

}  // namespace attn::tokenizers
