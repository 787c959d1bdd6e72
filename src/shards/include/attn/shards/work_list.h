// The files to process, in an order on which all processes agree.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn::shards {

/// A file to work on.
struct WorkItem {
  std::string input;  ///< path of the file
  std::string stem;   ///< name of the file without folder and extension, used for its output and its records
};

/// Expands words into files. A word is a path, a shell pattern ('*', '?', '[…]'), or "@list.txt", a file with one path
/// per line. The files are sorted by stem, each once. Throws Error (bad_input) if a pattern matches nothing, or a list
/// cannot be read. Throws it also if two files have the same stem, since their outputs would have the same name.
[[nodiscard]] std::vector<WorkItem> work_list(std::span<const std::string> words);

}  // namespace attn::shards
