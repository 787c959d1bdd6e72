#include "unicode8.h"

#include <algorithm>
#include <array>

#include "characters.h"

namespace attn::tokenizers::unicode8 {
namespace {

struct Range {
  char32_t first, last;
};

// Where Unicode 15 (utf8proc) says otherwise: what came later, and a few that were changed.
constexpr std::array<Range, 34> kPunctuation{
    {{0x61d, 0x61d},     {0x9fd, 0x9fd},     {0xa76, 0xa76},     {0xc77, 0xc77},     {0xc84, 0xc84},
     {0x166d, 0x166d},   {0x1b7d, 0x1b7e},   {0x2e43, 0x2e4f},   {0x2e52, 0x2e5d},   {0x10ead, 0x10ead},
     {0x10f55, 0x10f59}, {0x10f86, 0x10f89}, {0x111c9, 0x111c9}, {0x1144b, 0x1144f}, {0x1145a, 0x1145b},
     {0x1145d, 0x1145d}, {0x11660, 0x1166c}, {0x116b9, 0x116b9}, {0x1183b, 0x1183b}, {0x11944, 0x11946},
     {0x119e2, 0x119e2}, {0x11a3f, 0x11a46}, {0x11a9a, 0x11a9c}, {0x11a9e, 0x11aa2}, {0x11b00, 0x11b09},
     {0x11c41, 0x11c45}, {0x11c70, 0x11c71}, {0x11ef7, 0x11ef8}, {0x11f43, 0x11f4f}, {0x11fff, 0x11fff},
     {0x12ff1, 0x12ff2}, {0x16e97, 0x16e9a}, {0x16fe2, 0x16fe2}, {0x1e95e, 0x1e95f}}};
constexpr std::array<Range, 1> kFormat{{{0, 0}}};
constexpr std::array<Range, 1> kNonspacing{{{0, 0}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t point) noexcept {
  const auto found = std::lower_bound(ranges.begin(), ranges.end(), point,
                                      [](const Range& range, char32_t value) { return range.last < value; });
  return found != ranges.end() && point >= found->first;
}

}  // namespace

bool is_punctuation(char32_t point) noexcept { return tokenizers::is_punctuation(point) != is_in(kPunctuation, point); }
bool is_format(char32_t point) noexcept { return tokenizers::is_format(point) != is_in(kFormat, point); }
bool is_nonspacing(char32_t point) noexcept { return tokenizers::is_nonspacing(point) != is_in(kNonspacing, point); }

}  // namespace attn::tokenizers::unicode8
