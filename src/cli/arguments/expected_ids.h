// generate --expect: saved token ids.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/generate/request.h"

namespace attn::cli {

/// Reads the token ids of a file. It contains the output of `generate --json`, a JSON array of arrays of ids, or a line
/// of ids for each sequence ("1,2,3"), as generate writes without a tokenizer. Throws Error (bad_input).
[[nodiscard]] std::vector<std::vector<generate::Token>> read_expected_ids(const std::string& path);

/// Returns a sentence for each sequence that differs, with the first difference; empty if all agree.
[[nodiscard]] std::vector<std::string> differences(const std::string& path,
                                                   const std::vector<std::vector<generate::Token>>& expected,
                                                   std::span<const generate::Sequence> got);

}  // namespace attn::cli
