#include "attn/generate/draft.h"

#include <algorithm>

#include "probabilities.h"
#include "scores.h"

namespace attn::generate {

std::vector<Token> PromptLookup::propose(std::span<const Token> tokens, Dim most) {
  for (std::size_t length = std::min(kLongest, tokens.size() - 1); length > 0 && most > 0; --length) {
    const std::span<const Token> last = tokens.last(length), before = tokens.first(tokens.size() - 1);
    const auto found = std::find_end(before.begin(), before.end(), last.begin(), last.end());
    if (found == before.end()) continue;
    const auto from = static_cast<std::size_t>(found - before.begin()) + length;
    const std::span<const Token> followed = tokens.subspan(from);
    return {followed.begin(), followed.begin() + std::min<std::ptrdiff_t>(most, std::ssize(followed))};
  }
  return {};
}

Token DraftModel::read(std::span<const Token> tokens) {
  const auto position = static_cast<Dim>(read_.size()), count = static_cast<Dim>(tokens.size());
  const DecoderOutput ahead = decoder_.advance({tokens, 1, count, position, {}, false});
  read_.insert(read_.end(), tokens.begin(), tokens.end());
  return static_cast<Token>(argmax(logits_of(ahead, 0, position + count)));
}

std::vector<Token> DraftModel::propose(std::span<const Token> tokens, Dim most) {
  // If the last token was guessed earlier, it is read again to get the logits after it.
  const auto same = std::ranges::mismatch(read_, tokens.first(tokens.size() - 1)).in1 - read_.begin();
  read_.resize(static_cast<std::size_t>(same));
  const Dim room = decoder_.capacity() - static_cast<Dim>(tokens.size());
  std::vector<Token> guessed;
  if (std::min(most, room) <= 0) return guessed;
  guessed.push_back(read(tokens.subspan(read_.size())));
  while (std::ssize(guessed) < std::min(most, room)) guessed.push_back(read(std::span(guessed).last(1)));
  return guessed;
}

}  // namespace attn::generate
