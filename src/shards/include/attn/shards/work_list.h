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

/// Expands words into files: a path, a shell pattern ('*', '?', '[…]'), or "@list.txt", a file with one path per line.
/// Sorted by stem, each file once. Throws Error (bad_input) if a pattern matches nothing, a list cannot be read, or two
/// files have the same stem, since their outputs would have the same name.
[[nodiscard]] std::vector<WorkItem> work_list(std::span<const std::string> words);

}  // namespace attn::shards
