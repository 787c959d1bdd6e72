// --expect of generate: token ids that were kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/generate/request.h"

namespace attn::cli {

/// The token ids in a file: what `generate --json` wrote, a JSON array of arrays of ids, or a line of ids for each
/// sequence ("1,2,3"), as generate writes without a tokenizer. Throws Error (bad_input).
[[nodiscard]] std::vector<std::vector<generate::Token>> read_expected_ids(const std::string& path);

/// A sentence for each sequence that differs, with the first place where it does; none where all agree.
[[nodiscard]] std::vector<std::string> differences(const std::string& path,
                                                   const std::vector<std::vector<generate::Token>>& expected,
                                                   std::span<const generate::Sequence> got);

}  // namespace attn::cli
