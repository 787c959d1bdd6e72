// Names of commands and options in other programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::cli {

struct Synonym {
  std::string_view word, meant;
};

/// Returns the rows for options. The first row is used whose meaning the command has.
[[nodiscard]] std::span<const Synonym> option_synonyms();

/// Returns " (did you mean 'run'?)" for an unknown command, found by synonym, prefix or spelling; "" if nothing is
/// similar.
[[nodiscard]] std::string meant_command(std::string_view word, const std::vector<std::string>& commands);

/// Returns " (did you mean 'a' or 'b'?)"; "" for no names.
[[nodiscard]] std::string did_you_mean_one_of(const std::vector<std::string>& names);
/// Returns the first few names that begin with the word; none if the word has fewer than `least` letters.
[[nodiscard]] std::vector<std::string> with_prefix(std::string_view word, const std::vector<std::string>& names,
                                                   std::size_t least);
/// Returns "--max-tokens" for "--MAX_TOKENS".
[[nodiscard]] std::string as_written_here(std::string_view text);

}  // namespace attn::cli
