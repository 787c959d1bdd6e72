// Texts and lists of token ids, as a command line and files give them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// The texts of a file: one in each line where its name ends in .txt, else a JSON array of them; "-" is stdin. Throws
/// Error.
[[nodiscard]] std::vector<std::string> read_texts_file(const std::string& path);

/// All of stdin.
[[nodiscard]] std::string read_stdin(std::string_view what = "text");

/// "1,2,3" or "[1, 2, 3]", as JSON shows them: numbers from 0 on. `option` is where they stand: "--ids". Throws Error
/// (usage).
[[nodiscard]] std::vector<std::int32_t> parse_ids(const std::string& option, const std::string& text);

}  // namespace attn::cli
