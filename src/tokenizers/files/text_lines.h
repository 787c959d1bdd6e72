// Text files of tokenizers: a vocabulary or rules, one entry for each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/merge_rules.h"
#include "vocabulary.h"

namespace attn::tokenizers {

/// Splits a text into lines like Python: "\n", "\r" and "\r\n" end a line, and trailing white space is removed. The
/// views point into `text`. Throws Error (bad_input), whose message begins with `place`, for invalid UTF-8.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, const std::string& place);

/// Reads merges.txt: one rule for each line, except lines that begin with "#version". Throws Error (bad_input) for any
/// other line.
[[nodiscard]] MergeRules read_merges(std::string_view text, const std::string& place);

/// Reads vocabulary.txt: the line number, from 0 on, is the id. For a repeated token the last line counts.
[[nodiscard]] Vocabulary read_token_lines(std::string_view text, const std::string& place);

/// Reads lines "id literal length" of RWKV: the literal is a string or bytes of Python (python_literal.h), and has the
/// length in bytes.
[[nodiscard]] Vocabulary read_numbered_tokens(std::string_view text, const std::string& place);

/// Reads vocabulary.json: an object that maps tokens to ids. Throws Error (bad_input) for anything else.
[[nodiscard]] Vocabulary read_token_table(std::string_view text, const std::string& place);

}  // namespace attn::tokenizers
