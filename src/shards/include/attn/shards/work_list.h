// The files of a long piece of work, in an order on which all processes agree.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn::shards {

/// A file to work on.
struct WorkItem {
  std::string input;  ///< its path
  std::string stem;   ///< its name without folder and extension, which names its output and its records
};

/// What the words stand for: a path, a pattern of the shell's kind ('*', '?', '[…]'), or "@list.txt", a file with a
/// path in each line. Sorted by stem, each file once. Throws Error (bad_input) where a pattern finds nothing, a list
/// cannot be read, and where two files have one stem: their outputs would have one name.
[[nodiscard]] std::vector<WorkItem> work_list(std::span<const std::string> words);

}  // namespace attn::shards
