#include "trie.h"

#include <algorithm>

namespace attn::tokenizers {

Trie::Trie(std::vector<std::pair<std::string_view, Id>> words) : first_(256, 0) {
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Range {
    std::size_t from, to, depth;  // words with a common prefix of `depth` bytes
  };
  std::vector<Range> ranges{{0, words.size(), 0}};
  nodes_.emplace_back();
  for (std::size_t node = 0; node < ranges.size(); ++node) {  // ranges and nodes_ grow together
    Range range = ranges[node];
    for (; range.from < range.to && words[range.from].first.size() == range.depth; ++range.from)
      nodes_[node].id = words[range.from].second;
    nodes_[node].children = static_cast<std::uint32_t>(nodes_.size());
    while (range.from < range.to) {
      const char byte = words[range.from].first[range.depth];
      std::size_t end = range.from + 1;
      while (end < range.to && words[end].first[range.depth] == byte) ++end;
      if (node == 0) first_[static_cast<std::uint8_t>(byte)] = static_cast<std::uint32_t>(nodes_.size());
      ++nodes_[node].count;
      nodes_.push_back({0, 0, static_cast<std::uint8_t>(byte), -1});
      ranges.push_back({range.from, end, range.depth + 1});
      range.from = end;
    }
  }
}

}  // namespace attn::tokenizers
