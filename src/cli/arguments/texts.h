// Texts and lists of token ids from the command line and files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// Reads the texts of a file: one in each line of a .txt, else a JSON array of them; "-" is stdin. Throws Error.
[[nodiscard]] std::vector<std::string> read_texts_file(const std::string& path);

/// Reads all of stdin.
[[nodiscard]] std::string read_stdin(std::string_view what = "text");

/// Parses "1,2,3" or "[1, 2, 3]" as non-negative numbers. `option` is the option with the text: "--ids". Throws Error
/// (usage).
[[nodiscard]] std::vector<std::int32_t> parse_ids(const std::string& option, const std::string& text);

}  // namespace attn::cli
