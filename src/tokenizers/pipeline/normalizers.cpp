#include "normalizers.h"

#include <memory>
#include <utility>

#include "text/unicode8.h"

namespace attn::tokenizers {

std::string BertNormalizer::operator()(std::string_view text, const RuleLimit& limit) const {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_point(text, at);
    if (clean_text) {
      const bool is_space = is_white_space(point);
      const bool is_control_space = point == '\t' || point == '\n' || point == '\r';
      const bool is_other = is_control(point) || unicode8::is_format(point) || is_private(point);
      if (point == 0 || point == 0xfffd || (is_other && !is_control_space)) continue;
      if (is_space) point = ' ';
    }
    // The range in Hugging Face's library begins later than in the original.
    const bool is_word = handle_chinese_chars && is_ideograph(point) && !(point >= 0x2b820 && point < 0x2b920);
    if (is_word) out += ' ';
    append(out, point);
    if (is_word) out += ' ';
  }
  if (strip_accents) out = without(normalized(out, NormalForm::nfd, limit), unicode8::is_nonspacing);
  return lowercase ? lower_case(out) : out;
}

Normalizer make_form(NormalForm form) {
  return [form](std::string_view text, const RuleLimit& limit) { return normalized(text, form, limit); };
}

Normalizer make_replace(Pattern pattern, std::string content) {
  const auto shared = std::make_shared<const Pattern>(std::move(pattern));
  return [shared, content = std::move(content)](std::string_view text, const RuleLimit& limit) {
    std::string out;
    std::size_t done = 0;
    for (std::size_t from = 0; from <= text.size();) {
      const auto found = shared->find(text, from);
      if (!found) break;
      limit.spend_match(*shared);
      const auto [begin, end] = *found;
      out.append(text.substr(done, begin - done)).append(content);
      limit.check(out.size());
      done = end;
      from = end > begin ? end : end < text.size() ? end + length_of(text[end]) : end + 1;
    }
    return out.append(text.substr(done));
  };
}

Normalizer make_prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string_view text, const RuleLimit&) {
    return text.empty() ? std::string() : prefix + std::string(text);
  };
}

Normalizer make_strip(bool left, bool right) {
  return [left, right](std::string_view text, const RuleLimit&) {
    std::size_t from = 0, to = text.size();
    while (left && from < to) {
      std::size_t next = from;
      if (!is_white_space(next_point(text, next))) break;
      from = next;
    }
    while (right && from < to) {
      const std::size_t last = point_before(text, to);
      std::size_t at = last;
      if (!is_white_space(next_point(text, at))) break;
      to = last;
    }
    return std::string(text.substr(from, to - from));
  };
}

Normalizer make_char_map(CharMap map) {
  const auto shared = std::make_shared<const CharMap>(std::move(map));
  return [shared](std::string_view text, const RuleLimit& limit) { return shared->normalized(text, limit); };
}

}  // namespace attn::tokenizers
