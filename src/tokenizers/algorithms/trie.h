// A trie: finds the words that are prefixes of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

class Trie {
 public:
  Trie() = default;
  /// Takes words with their ids; for a repeated word the last id counts. The words are not stored.
  explicit Trie(std::vector<std::pair<std::string_view, Id>> words);

  /// Calls visit(length, id) for each word that is a prefix of `text`, shortest first. The empty word never matches.
  template <typename Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    if (nodes_.empty()) return;
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<std::uint8_t>(text[i]));
      if (node == 0) return;
      if (nodes_[node].id >= 0) visit(i + 1, nodes_[node].id);
    }
  }

  /// Returns the longest word that is a prefix of `text`: its length (0 if there is none) and its id.
  [[nodiscard]] std::pair<std::size_t, Id> longest(std::string_view text) const {
    std::pair<std::size_t, Id> found{0, -1};
    prefixes(text, [&](std::size_t length, Id id) { found = {length, id}; });
    return found;
  }

 private:
  struct Node {
    std::uint32_t children = 0;  // index of the first child; the children of a node are adjacent, in byte order
    std::uint16_t count = 0;
    std::uint8_t byte = 0;
    Id id = -1;  // id of the word that ends here
  };

  /// Returns 0, the root, if there is none.
  [[nodiscard]] std::uint32_t child(std::uint32_t node, std::uint8_t byte) const noexcept {
    if (node == 0) return first_[byte];
    std::uint32_t from = nodes_[node].children, count = nodes_[node].count;
    while (count > 4) {
      const std::uint32_t half = count / 2;
      if (nodes_[from + half].byte <= byte) {
        from += half;
        count -= half;
      } else {
        count = half;
      }
    }
    for (const std::uint32_t end = from + count; from < end; ++from)
      if (nodes_[from].byte == byte) return from;
    return 0;
  }

  std::vector<Node> nodes_;           // the nodes in breadth-first order, from the root
  std::vector<std::uint32_t> first_;  // children of the root, by byte
};

}  // namespace attn::tokenizers
