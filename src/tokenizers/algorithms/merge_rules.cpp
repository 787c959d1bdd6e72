#include "merge_rules.h"

#include <bit>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {

void MergeRules::add(std::string_view left, std::string_view right) {
  const std::size_t from = text_.size();
  text_ += left;
  text_ += right;
  rules_.push_back({from, from + left.size(), text_.size()});
}

void MergeRules::add_line(std::string_view line, const std::string& place) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    throw bad_input("{}: the merge rule '{}' is not two tokens with a space between", place, shortened(line));
  add(line.substr(0, space), line.substr(space + 1));
}

std::string_view MergeRules::left(std::size_t rank) const noexcept {
  const Rule& rule = rules_[rank];
  return std::string_view(text_).substr(rule.from, rule.middle - rule.from);
}

std::string_view MergeRules::right(std::size_t rank) const noexcept {
  const Rule& rule = rules_[rank];
  return std::string_view(text_).substr(rule.middle, rule.end - rule.middle);
}

PairTable::PairTable(std::size_t pairs) {
  const std::size_t size = std::bit_ceil(2 * pairs + 2);
  entries_.resize(size);
  shift_ = 64 - std::countr_zero(size);
}

void PairTable::set(Id left, Id right, Merge merge) {
  const std::uint64_t pair = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  entries_[slot(pair)] = {pair, merge};
}

PairTable::Merge PairTable::find(Id left, Id right) const noexcept {
  return entries_[slot(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right))].merge;
}

std::size_t PairTable::slot(std::uint64_t pair) const noexcept {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads neighboring keys
  std::size_t at = (pair * kGolden) >> shift_;
  while (entries_[at].pair != pair && entries_[at].pair != UINT64_MAX) at = (at + 1) & (entries_.size() - 1);
  return at;
}

}  // namespace attn::tokenizers
