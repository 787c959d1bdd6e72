#include "vocabulary.h"

#include <functional>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {

void Vocabulary::add(std::string_view token, std::int64_t id, Repeats repeats) {
  if (id < 0 || id >= kMostIds)
    throw bad_input("{}: the token '{}' has the id {}; ids from 0 to {} are read", place_, shortened(token), id,
                    kMostIds - 1);
  if (token.size() > kLongestToken)
    throw bad_input("{}: the token '{}' has over {} bytes, which is not accepted", place_, shortened(token),
                    kLongestToken);
  if (text_.size() + token.size() >= kNone) throw bad_input("{}: a vocabulary of over 4 GB is not accepted", place_);
  if (slots_.size() < 2 * static_cast<std::size_t>(size_ + 1)) grow();
  const std::size_t at = slot(token);
  if (slots_[at] == id) return;
  if (slots_[at] >= 0 && repeats == Repeats::refused)
    throw bad_input("{}: the token '{}' has two ids, {} and {}", place_, shortened(token), slots_[at], id);
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1, Part{kNone, 0});
  if (tokens_[index].from != kNone)
    throw bad_input("{}: the tokens '{}' and '{}' have the same id {}", place_, shortened(text(tokens_[index])),
                    shortened(token), id);
  slots_[at] = static_cast<Id>(id);
  tokens_[index] = {static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(token.size())};
  text_ += token;
  ++size_;
}

std::optional<Id> Vocabulary::find(std::string_view token) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const Id id = slots_[slot(token)];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string_view> Vocabulary::token(Id id) const noexcept {
  if (id < 0 || id >= end()) return std::nullopt;
  const Part part = tokens_[static_cast<std::size_t>(id)];
  return part.from == kNone ? std::nullopt : std::optional(text(part));
}

std::size_t Vocabulary::slot(std::string_view token) const noexcept {
  std::size_t at = std::hash<std::string_view>{}(token) & (slots_.size() - 1);
  while (slots_[at] >= 0 && text(tokens_[static_cast<std::size_t>(slots_[at])]) != token)
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

void Vocabulary::grow() {
  slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), -1);
  for (std::size_t id = 0; id < tokens_.size(); ++id)
    if (tokens_[id].from != kNone) slots_[slot(text(tokens_[id]))] = static_cast<Id>(id);
}

}  // namespace attn::tokenizers
