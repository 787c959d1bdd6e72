// The merge rules of byte-pair encoding, and their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Rules in the order of their rank. Their tokens are resolved once the vocabulary is complete.
class MergeRules {
 public:
  void add(std::string_view left, std::string_view right);
  /// Parses a line "left right". Throws Error (bad_input), whose message begins with `place`, if it does not have two
  /// words.
  void add_line(std::string_view line, const std::string& place);

  [[nodiscard]] std::size_t size() const noexcept { return rules_.size(); }
  [[nodiscard]] std::string_view left(std::size_t rank) const noexcept;
  [[nodiscard]] std::string_view right(std::size_t rank) const noexcept;

 private:
  struct Rule {
    std::size_t from, middle, end;
  };
  std::string text_;
  std::vector<Rule> rules_;
};

/// A hash table from a pair of ids to the merged id and the rank of the rule.
class PairTable {
 public:
  struct Merge {
    std::uint32_t rank = UINT32_MAX;  ///< UINT32_MAX: no rule
    Id id = -1;
  };
  explicit PairTable(std::size_t pairs);
  void set(Id left, Id right, Merge merge);
  [[nodiscard]] Merge find(Id left, Id right) const noexcept;

 private:
  struct Entry {
    std::uint64_t pair = UINT64_MAX;  // UINT64_MAX: an unused entry
    Merge merge;
  };
  [[nodiscard]] std::size_t slot(std::uint64_t pair) const noexcept;

  std::vector<Entry> entries_;  // hash table with open addressing
  int shift_ = 0;
};

}  // namespace attn::tokenizers
