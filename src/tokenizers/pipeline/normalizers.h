// The normalizers of tokenizer files: they change a text before it is split.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "char_map.h"
#include "pattern.h"
#include "rule_limit.h"
#include "text/characters.h"

namespace attn::tokenizers {

/// Converts a text to the one that is tokenized instead, whose size must stay below the limit. A normalizer is pure,
/// and threads may share it.
using Normalizer = std::function<std::string(std::string_view text, const RuleLimit& limit)>;
/// Normalizers that are applied in order.
using Normalizers = std::vector<Normalizer>;

struct BertNormalizer {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
  [[nodiscard]] std::string operator()(std::string_view text, const RuleLimit& limit) const;
};

[[nodiscard]] Normalizer make_form(NormalForm form);
[[nodiscard]] Normalizer make_replace(Pattern pattern, std::string content);
[[nodiscard]] Normalizer make_prepend(std::string prefix);
[[nodiscard]] Normalizer make_strip(bool left, bool right);
[[nodiscard]] Normalizer make_char_map(CharMap map);

}  // namespace attn::tokenizers
