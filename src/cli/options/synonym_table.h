// The names that other programs have for commands and options.
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

/// Of options: the first whose meaning the command has counts.
[[nodiscard]] std::span<const Synonym> option_synonyms();

/// " (did you mean 'run'?)": of a word that is no command, by what else it is called, by its beginning or by its
/// spelling; "" where nothing is near.
[[nodiscard]] std::string meant_command(std::string_view word, const std::vector<std::string>& commands);

/// " (did you mean 'a' or 'b'?)"; "" for no names.
[[nodiscard]] std::string did_you_mean_one_of(const std::vector<std::string>& names);
/// A few of the names that begin with the word, which has at least so many letters.
[[nodiscard]] std::vector<std::string> with_prefix(std::string_view word, const std::vector<std::string>& names,
                                                   std::size_t least);
/// "--max-tokens" of "--MAX_TOKENS".
[[nodiscard]] std::string as_written_here(std::string_view text);

}  // namespace attn::cli
