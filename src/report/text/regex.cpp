#include "regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::report {
namespace {

constexpr std::size_t kLongestPattern = 4096;         // bytes
constexpr std::uint32_t kMostSteps = 1'000'000;       // limit for one match: about 20 ms
constexpr std::uint32_t kMostBacktracking = 1 << 16;  // KiB of memory for backtracking in one match

/// Wraps an object of PCRE2 with the function that frees it.
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

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void Regex::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view place, std::string pattern) : place_(place), pattern_(std::move(pattern)) {
  // Python's semantics: characters are Unicode's, and `.` matches everything except a newline.
  const auto context = owned(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(context.get(), kLongestPattern);
  int code = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(bytes_of(pattern_), pattern_.size(),
                            PCRE2_ANCHORED | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                            &code, &offset, context.get()));
  if (code_ == nullptr) {
    throw bad_usage("{}: '{}' is not a regular expression: {}", place_, printable(pattern_), message_of(code));
  }
}

bool Regex::matches_start(std::string_view text) const {
  const auto context = owned(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  pcre2_set_match_limit(context.get(), kMostSteps);
  pcre2_set_heap_limit(context.get(), kMostBacktracking);
  const auto found = owned(pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
  const int code = pcre2_match(code_.get(), bytes_of(text), text.size(), 0, 0, found.get(), context.get());
  if (code >= 0) return true;
  if (code == PCRE2_ERROR_NOMATCH) return false;
  throw bad_usage("{}: matching '{}' goes too far: {}", place_, printable(pattern_), message_of(code));
}

}  // namespace attn::report
