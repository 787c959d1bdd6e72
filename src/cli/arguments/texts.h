// Texts and lists of token ids from the command line and files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// Reads the texts of a file: the lines of a .txt, else a JSON array of strings; "-" is stdin. Throws Error.
[[nodiscard]] std::vector<std::string> read_texts_file(const std::string& path);

/// Reads all of stdin.
[[nodiscard]] std::string read_stdin(std::string_view what = "text");

/// Parses "1,2,3" or "[1, 2, 3]" as non-negative numbers. `option` names the option with the text ("--ids") in
/// messages. Throws Error (usage).
[[nodiscard]] std::vector<std::int32_t> parse_ids(const std::string& option, const std::string& text);

}  // namespace attn::cli
