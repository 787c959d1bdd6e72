#include "characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {
namespace {

utf8proc_category_t category_of(char32_t point) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(point));
}
bool is_between(char32_t point, utf8proc_category_t first, utf8proc_category_t last) noexcept {
  const utf8proc_category_t category = category_of(point);
  return category >= first && category <= last;
}
constexpr bool is_ascii_letter(char32_t point) noexcept { return (point | 0x20) >= 'a' && (point | 0x20) <= 'z'; }

bool is_ascii(std::string_view text) noexcept {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(out, std::free);
  if (size < 0)
    throw std::bad_alloc();  // the text is valid and the options are consistent, so memory is the only
                             // reason
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

std::vector<utf8proc_int32_t> decomposed(std::string_view text, utf8proc_option_t options, const RuleLimit& limit) {
  constexpr std::size_t kMostPoints = 18;  // code points of U+FDFA, the longest
  std::vector<utf8proc_int32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const auto point = static_cast<utf8proc_int32_t>(next_point(text, at));
    if (point < 0x80) {
      points.push_back(point);
    } else {
      std::array<utf8proc_int32_t, kMostPoints> parts;
      int boundary = 0;
      const utf8proc_ssize_t count =
          utf8proc_decompose_char(point, parts.data(), std::ssize(parts), options, &boundary);
      points.insert(points.end(), parts.begin(), parts.begin() + std::clamp<std::ptrdiff_t>(count, 0, kMostPoints));
    }
    limit.check(points.size());
  }
  return points;
}

/// Canonical ordering of Unicode. utf8proc sorts a run of marks by swapping neighbors, in quadratic time.
void sort_marks(std::vector<utf8proc_int32_t>& points) {
  const auto class_of = [](utf8proc_int32_t point) {
    return point < 0x300 ? 0 : static_cast<int>(utf8proc_get_property(point)->combining_class);
  };
  const auto is_mark = [&](utf8proc_int32_t point) { return class_of(point) != 0; };
  for (auto run = points.begin(); (run = std::find_if(run, points.end(), is_mark)) != points.end();) {
    const auto end = std::find_if_not(run, points.end(), is_mark);
    std::stable_sort(run, end, [&](auto a, auto b) { return class_of(a) < class_of(b); });
    run = end;
  }
}

}  // namespace

void append(std::string& text, char32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      text += static_cast<char>(0xe0 | point >> 12);
    } else {
      text += static_cast<char>(0xf0 | point >> 18);
      text += static_cast<char>(0x80 | (point >> 12 & 0x3f));
    }
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
  }
  text += static_cast<char>(0x80 | (point & 0x3f));
}

bool is_white_space(char32_t point) noexcept {
  if (point < 0x85) return point == ' ' || (point >= 0x09 && point <= 0x0d);
  return point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}
bool is_letter(char32_t point) noexcept {
  if (point < 0x80) return is_ascii_letter(point);
  return is_between(point, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}
bool is_number(char32_t point) noexcept {
  if (point < 0x80) return point >= '0' && point <= '9';
  return is_between(point, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}
bool is_punctuation(char32_t point) noexcept { return is_between(point, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool is_mark(char32_t point) noexcept { return is_between(point, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
bool is_nonspacing(char32_t point) noexcept { return category_of(point) == UTF8PROC_CATEGORY_MN; }
bool is_control(char32_t point) noexcept { return point < 0x20 || (point >= 0x7f && point < 0xa0); }
bool is_format(char32_t point) noexcept { return category_of(point) == UTF8PROC_CATEGORY_CF; }
bool is_private(char32_t point) noexcept { return category_of(point) == UTF8PROC_CATEGORY_CO; }
bool is_word(char32_t point) noexcept {
  const utf8proc_category_t category = category_of(point);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND) || category == UTF8PROC_CATEGORY_PC;
}

std::string normalized(std::string_view text, NormalForm form, const RuleLimit& limit) {
  if (is_ascii(text)) return std::string(text);
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool is_compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (is_compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> points = decomposed(text, options, limit);
  sort_marks(points);
  if (composes) {
    const utf8proc_ssize_t size = utf8proc_normalize_utf32(points.data(), std::ssize(points), options);
    points.resize(static_cast<std::size_t>(size));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t point : points) append(out, static_cast<char32_t>(point));
  limit.check(out.size());
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_point(text, at);
    if (point < 0x80) {
      out += static_cast<char>(point >= 'A' && point <= 'Z' ? point | 0x20 : point);
    } else if (point == 0x130) {
      out += "i\u0307";  // the only letter whose lower case has two code points in every context
    } else {
      append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
    }
  }
  return out;
}

std::string case_folded(std::string_view text) {
  if (is_ascii(text)) return lower_case(text);
  return mapped(text, UTF8PROC_CASEFOLD);
}

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  const auto byte = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  for (std::size_t at = 0; at < bytes.size();) {
    const unsigned first = byte(at);
    std::size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xf5 ? length_of(bytes[at]) : 0;
    std::size_t good = length > 0 ? 1 : 0;  // length of the valid prefix of a sequence
    for (; good > 0 && good < length; ++good) {
      const unsigned next = byte(at + good);
      // The second byte shows overlong forms, surrogates and code points above U+10FFFF.
      const unsigned least = good == 1 && first == 0xe0 ? 0xa0 : good == 1 && first == 0xf0 ? 0x90 : 0x80;
      const unsigned most = good == 1 && first == 0xed ? 0x9f : good == 1 && first == 0xf4 ? 0x8f : 0xbf;
      if (next < least || next > most) break;
    }
    if (good > 0 && good == length) {
      out += bytes.substr(at, length);
      at += length;
    } else {
      out += "\uFFFD";
      at += good > 0 ? good : 1;
    }
  }
  return out;
}

}  // namespace attn::tokenizers
