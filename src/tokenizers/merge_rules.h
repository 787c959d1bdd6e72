// Rules of byte-pair encoding: which two tokens become one, and which of them first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Rules in the order of their rank. Their tokens are looked up once all of the vocabulary is known.
class MergeRules {
 public:
  void add(std::string_view left, std::string_view right);
  /// A line "left right". Throws Error (bad_input) that begins with `place` where it is not two words.
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

/// Ids of pairs of ids, in a hash table: what a pair becomes, and when.
class PairTable {
 public:
  struct Merge {
    std::uint32_t rank = UINT32_MAX;  ///< of no rule
    Id id = -1;
  };
  explicit PairTable(std::size_t pairs);
  void set(Id left, Id right, Merge merge);
  [[nodiscard]] Merge find(Id left, Id right) const noexcept;

 private:
  struct Entry {
    std::uint64_t pair = UINT64_MAX;  // of no ids
    Merge merge;
  };
  [[nodiscard]] std::size_t slot(std::uint64_t pair) const noexcept;

  std::vector<Entry> entries_;  // open addressing
  int shift_ = 0;
};

}  // namespace attn::tokenizers
