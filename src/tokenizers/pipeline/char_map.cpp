#include "char_map.h"

#include <utf8proc.h>

#include <cstring>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "text/characters.h"

namespace attn::tokenizers {
namespace {

// The maximum bytes of a replacement, also inside the SentencePiece library. NFKC maps U+FDFA to 33 bytes.
constexpr std::size_t kLongestText = 64;

// These functions read a unit of darts-clone's double array: a label (with a bit above the byte range for a leaf) and
// the offset of its children.
constexpr bool is_leaf(std::uint32_t unit) noexcept { return unit >> 31 != 0; }
constexpr bool has_leaf(std::uint32_t unit) noexcept { return (unit >> 8 & 1) != 0; }
constexpr std::uint32_t value_of(std::uint32_t unit) noexcept { return unit & 0x7fffffff; }
constexpr std::uint32_t label_of(std::uint32_t unit) noexcept { return unit & 0x800000ff; }
constexpr std::size_t offset_of(std::uint32_t unit) noexcept { return unit >> 10 << ((unit & 1 << 9) >> 6); }

}  // namespace

CharMap::CharMap(std::string_view bytes, const std::string& place) {
  std::uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  const auto wrong = [&](const char* what) { return bad_input("{}: the table of characters {}", place, what); };
  if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof size) throw wrong("is cut short");
  units_.resize(size / 4);
  std::memcpy(units_.data(), bytes.data() + sizeof size, size);
  texts_ = bytes.substr(sizeof size + size);
  if (!is_utf8(texts_)) throw wrong("contains texts that are not UTF-8");
  if (texts_.empty() || texts_.back() != '\0') throw wrong("contains a text without an end");
  for (std::size_t from = 0, end = 0; from < texts_.size(); from = end + 1) {
    end = texts_.find('\0', from);
    if (end - from > kLongestText) throw wrong("replaces a character by too long a text");
  }
  if (is_leaf(units_[0])) throw wrong("leads out of itself");
  for (std::size_t at = 0; at < units_.size(); ++at) {
    const std::uint32_t unit = units_[at];
    if (is_leaf(unit)) {
      const std::uint32_t text = value_of(unit);
      // A text begins at the start of the list or after the end of another text; texts inside are valid as parts of
      // these.
      if (text >= texts_.size() || (static_cast<unsigned char>(texts_[text]) & 0xc0) == 0x80)
        throw wrong("points outside its texts");
      continue;
    }
    const std::size_t children = at ^ offset_of(unit);
    if ((children | 0xff) >= units_.size() || (has_leaf(unit) && !is_leaf(units_[children])))
      throw wrong("leads out of itself");
  }
}

std::optional<std::string_view> CharMap::find(std::string_view text) const noexcept {
  std::size_t at = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(c));
    if (byte == 0) break;
    at ^= byte;
    const std::uint32_t unit = units_[at];
    if (label_of(unit) != byte) break;
    at ^= offset_of(unit);
    if (has_leaf(unit)) {
      const std::string_view rest = std::string_view(texts_).substr(value_of(units_[at]));
      return rest.substr(0, rest.find('\0'));
    }
  }
  return std::nullopt;
}

bool CharMap::changes_ascii() const {
  std::vector<std::size_t> open{offset_of(units_[0])};
  for (std::size_t looked = 0; !open.empty(); ++looked) {
    if (looked == units_.size()) return true;  // the table has a cycle
    const std::size_t children = open.back();
    open.pop_back();
    for (std::uint32_t byte = '!'; byte <= '~'; ++byte) {
      const std::size_t at = children ^ byte;
      if (label_of(units_[at]) != byte) continue;
      if (has_leaf(units_[at])) return true;
      open.push_back(at ^ offset_of(units_[at]));
    }
  }
  return false;
}

std::string CharMap::normalized(std::string_view text, const RuleLimit& limit) const {
  constexpr std::size_t kWhole = 6;  // longer graphemes are looked up by code point
  std::string out;
  out.reserve(text.size());
  const auto add = [&](std::string_view part) {
    out += find(part).value_or(part);
    limit.check(out.size());
  };
  utf8proc_int32_t state = 0;
  std::size_t begin = 0;
  char32_t before = 0;
  const auto flush = [&](std::size_t end) {
    const std::string_view grapheme = text.substr(begin, end - begin);
    begin = end;
    if (grapheme.size() < kWhole) {
      if (const auto replacement = find(grapheme)) {
        out += *replacement;
        limit.check(out.size());
        return;
      }
    }
    for (std::size_t at = 0; at < grapheme.size();) {
      const std::size_t from = at;
      at += length_of(grapheme[at]);
      add(grapheme.substr(from, at - from));
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const char32_t point = next_point(text, at);
    if (from > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                     static_cast<utf8proc_int32_t>(point), &state) != 0)
      flush(from);
    before = point;
  }
  if (!text.empty()) flush(text.size());
  return out;
}

}  // namespace attn::tokenizers
