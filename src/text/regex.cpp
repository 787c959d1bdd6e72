#include "attn/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

namespace attn::text {
namespace {

constexpr std::size_t kLongest = 32 << 10;            // maximum bytes of an expression
constexpr std::size_t kMostSteps = 1'000'000;         // maximum steps of a match; two for each byte of a long text
constexpr std::uint32_t kMostBacktracking = 1 << 16;  // maximum KiB of memory for backtracking in one match

/// Wraps an object of PCRE2 with the function that frees it.
template <class T>
std::unique_ptr<T, void (*)(T*)> owned(T* made, void (*free)(T*)) {
  if (made == nullptr) throw std::bad_alloc();
  return {made, free};
}

RegexError error_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return RegexError(std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), 0)));
}

PCRE2_SPTR units_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void Regex::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view expression, Subject subject) : subject_(subject) {
  const auto context = owned(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(context.get(), kLongest);
  const std::uint32_t invalid = subject == Subject::any_bytes ? PCRE2_MATCH_INVALID_UTF : 0;
  int code = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(units_of(expression), expression.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | invalid, &code, &offset, context.get()));
  if (code_ == nullptr) throw error_of(code);
  // Compiled code has a small stack for backtracking, which suffices for words. If memory cannot be made executable,
  // the expression is interpreted.
  if (subject == Subject::valid_utf8) static_cast<void>(pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE));
}

std::optional<Regex::Match> Regex::match(std::string_view text, std::size_t from, bool anchored) const {
  thread_local const auto kFound = owned(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  thread_local const auto kContext = owned(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  // A pattern in which a word ends with its spaces backtracks once per space: a run of a million spaces needs a million
  // steps.
  const std::size_t steps = std::clamp<std::size_t>(2 * text.size(), kMostSteps, UINT32_MAX);
  pcre2_set_match_limit(kContext.get(), static_cast<std::uint32_t>(steps));
  pcre2_set_heap_limit(kContext.get(), kMostBacktracking);
  const std::uint32_t options =
      (anchored ? PCRE2_ANCHORED : 0) | (subject_ == Subject::valid_utf8 ? PCRE2_NO_UTF_CHECK : 0);
  const int code = pcre2_match(code_.get(), units_of(text), text.size(), from, options, kFound.get(), kContext.get());
  if (code == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (code < 0) throw error_of(code);
  const std::size_t* const ends = pcre2_get_ovector_pointer(kFound.get());
  return Match{ends[0], ends[1]};
}

}  // namespace attn::text
