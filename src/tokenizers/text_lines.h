// Text files of tokenizers: a vocabulary or rules, one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "merge_rules.h"
#include "vocabulary.h"

namespace attn::tokenizers {

/// The lines as Python reads them: "\n", "\r" and "\r\n" end one, and white space at the end goes. The views are of
/// `text`. Throws Error (bad_input) that begins with `place` for what is no UTF-8.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, const std::string& place);

/// merges.txt: a rule a line, without lines of "#version". Throws Error (bad_input) for any other line.
[[nodiscard]] MergeRules read_merges(std::string_view text, const std::string& place);

/// vocabulary.txt: the line's number, from 0 on, is the id. Of a token that stands twice the last line counts.
[[nodiscard]] Vocabulary read_token_lines(std::string_view text, const std::string& place);

/// vocabulary.json: an object of tokens with their ids. Throws Error (bad_input) for anything else.
[[nodiscard]] Vocabulary read_token_table(std::string_view text, const std::string& place);

}  // namespace attn::tokenizers
